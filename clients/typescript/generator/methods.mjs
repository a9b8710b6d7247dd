// The methods of the JSON-RPC paths, as kit describes an API, and the plain GETs.
import { comment, pascal } from "./text.mjs";
import { hint } from "./types.mjs";

const HEAD = `// Generated: the service's methods, a type for each path.
import type { Address } from "@solana/kit";

import type { Caller } from "../calling.js";
import type * as types from "./types.js";
`;
const AREAS = { "/": "node", "/priority": "priority", "/bundle": "bundle",
  "/historical": "historical", "/rewind": "rewind" };
// A method about the documents themselves.
const LEFT_OUT = new Set(["rpc.discover"]);
// The GETs that return what no method returns.
const GETS = { tipinfo: "tipInfo", tipfloor: "tipFloor", tipaddress: "checkTipAddress",
  fetchtipaddress: "fetchTipAddresses", newestFates: "newestFates" };
// What has other forms for older callers has one here.
const ONE_FORM = { simulateBundle: "types.SimulatedBundle", fetchtipaddress: "types.Addresses",
  sendBundle: "string[]" };

export function methodsModule(rpc, http) {
  const areas = Object.entries(AREAS).map(([path, area]) => {
    const methods = rpc.methods
      .filter((each) => each["x-path"] === path && !LEFT_OUT.has(each.name))
      .map(method);
    return `/** The methods of \`${path}\`. */\nexport type ${pascal(area)}Api = {\n${methods.join("\n")}};\n`;
  });
  const gets = Object.entries(http.paths)
    .filter(([, operations]) => operations.get && GETS[operations.get.operationId])
    .map(([path, { get }]) => plainGet(path, get));
  const tips = `/** Tips, and the newest fates: plain GETs. */\nexport class Tips {
  constructor(private readonly caller: Caller) {}\n\n${gets.join("\n")}}\n`;
  return [HEAD, ...areas, tips].join("\n");
}

/** The schemas that a caller sends. */
export const sentSchemas = (rpc) =>
  rpc.methods.flatMap((each) => each.params.map((param) => param.schema));

function method({ name, description, summary, params, result, ...others }) {
  const lastRequired = params.findLastIndex((each) => each.required);
  const declared = params.map(
    (each, index) =>
      `${each.name}${index > lastRequired ? "?" : ""}: ${hint(each.schema, true)}`,
  );
  const errors = others["x-errors"].length ? `Errors of its own: ${others["x-errors"].map((each) => `\`${each}\``).join(", ")}` : "";
  return (
    comment("  ", description ?? summary, errors) +
    `  ${name}(${declared.join(", ")}): ${ONE_FORM[name] ?? hint(result.schema)};\n`
  );
}

function plainGet(path, { operationId, description, parameters = [], responses }) {
  const inPath = parameters.filter((each) => each.in === "path");
  const query = parameters.filter((each) => each.in === "query");
  const schema = Object.values(Object.values(responses)[0].content)[0].schema;
  const result = ONE_FORM[operationId] ?? hint(schema);
  const members = query.map((each) => `${each.name}?: ${hint(each.schema, true)}`);
  const declared = inPath.map((each) => `${each.name}: ${hint(each.schema, true)}`);
  // Without a parameter this one has another form, for old clients.
  const given = operationId === "fetchtipaddress" ? "{ count: 1, ...query }" : "query";
  if (query.length) declared.push(`query: { ${members.join("; ")} } = {}`);
  const called = path.replaceAll("{", "${");
  return (
    comment("  ", description) +
    `  ${GETS[operationId]}(${[...declared, "signal?: AbortSignal"].join(", ")}): Promise<${result}> {\n` +
    `    return this.caller.get<${result}>(\`${called}\`, ${query.length ? given : "{}"}, signal);\n  }\n`
  );
}
