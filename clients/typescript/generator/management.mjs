// The resources of the management API, a class for each.
import { camel, comment, pascal } from "./text.mjs";
import { hint } from "./types.mjs";

const HEAD = `// Generated: the calls of the management API, a class for each resource.
import type { Caller, Versioned, WriteOptions } from "../calling.js";
import type * as types from "./types.js";
`;
const ROOT = "/manage/v1/";
const VERBS = { retrieve: "get", partialUpdate: "change", destroy: "delete" };
// Single answers, which the framework calls lists.
const READ = new Set(["usage", "coverage"]);

export function managementModule(http) {
  const resources = new Map();
  for (const [path, operations] of Object.entries(http.paths)) {
    if (!path.startsWith(ROOT)) continue;
    for (const [verb, operation] of Object.entries(operations)) {
      const name = resourceOf(path);
      resources.set(name, [...(resources.get(name) ?? []), method(name, path, verb, operation, http)]);
    }
  }
  const classes = [...resources].map(
    ([name, methods]) =>
      `export class ${pascal(name)} {\n  constructor(private readonly caller: Caller) {}\n\n` +
      `${methods.join("\n")}}\n`,
  );
  const declared = [...resources.keys()].map((name) => `  readonly ${name}: ${pascal(name)};\n`);
  const made = [...resources.keys()].map(
    (name) => `    this.${name} = new ${pascal(name)}(caller);\n`,
  );
  const every =
    "/** Every resource of the management API. */\nexport class Resources {\n" +
    `${declared.join("")}\n  constructor(caller: Caller) {\n${made.join("")}  }\n}\n`;
  return [HEAD, ...classes, every].join("\n");
}

/** The schemas that a caller sends. */
export const sentBodies = (http) =>
  Object.values(http.paths).flatMap((operations) =>
    Object.values(operations).map((each) => each.requestBody ?? {}),
  );

/** `/manage/v1/gaps/ledger/{id}` → `ledgerGaps`. */
function resourceOf(path) {
  const parts = path.replace(ROOT, "").split("/");
  return parts[0] === "gaps" ? `${parts[1]}Gaps` : camel(parts[0]);
}

function actionOf(resource, path, operation) {
  const base = path.includes("/gaps/") ? `gaps${pascal(path.split("/")[4])}` : resource;
  const action = camel(operation.operationId.replace(base, ""));
  if (action === "list" && READ.has(resource)) return "read";
  return VERBS[action] ?? action;
}

function method(resource, path, verb, operation, http) {
  const action = actionOf(resource, path, operation);
  const given = operation.parameters ?? [];
  const headers = new Map(given.filter((each) => each.in === "header").map((each) => [each.name, each]));
  const query = given.filter((each) => each.in === "query" && each.name !== "cursor");
  const answer = Object.entries(Object.values(operation.responses)[0].content ?? {})[0];
  const result = answer ? hint(answer[1].schema) : "void";
  const declared = given
    .filter((each) => each.in === "path")
    .map((each) => `${each.name}: ${hint(each.schema, true)}`);
  const called = `\`${path.replaceAll("{", "${")}\``;
  const head = (kind) => `${comment("  ", operation.description)}  ${action}(${declared.join(", ")}): ${kind} {\n`;
  if (query.length) {
    const members = query.map(
      (each) => `${each.name}${each.required ? "" : "?"}: ${hint(each.schema, true)}`,
    );
    const optional = query.every((each) => !each.required);
    declared.push(`query: { ${members.join("; ")} }${optional ? " = {}" : ""}`);
  }
  const asked = query.length ? "query" : "{}";
  if (verb === "get") {
    declared.push("signal?: AbortSignal");
    if (action === "list") {
      const item = `types.${result.replace("types.Paginated", "").replace(/List$/, "")}`;
      return `${head(`AsyncGenerator<${item}>`)}    return this.caller.pages<${item}>(${called}, ${asked}, signal);\n  }\n`;
    }
    if (answer[0] === "text/csv") {
      return `${head("Promise<string>")}    return this.caller.text(${called}, ${asked}, signal);\n  }\n`;
    }
    return `${head(`Promise<Versioned<${result}>>`)}    return this.caller.get<Versioned<${result}>>(${called}, ${asked}, signal);\n  }\n`;
  }
  const body = operation.requestBody?.content["application/json"].schema;
  const mustHave = headers.get("If-Match")?.required;
  if (body) {
    const schema = http.components.schemas[body.$ref.split("/").at(-1)];
    const optional = !schema.required?.length && !mustHave;
    declared.push(`body: ${hint(body, true)}${optional ? " = {}" : ""}`);
  }
  declared.push(mustHave ? "options: WriteOptions & { version: string }" : "options: WriteOptions = {}");
  const kind = result === "void" ? "void" : `Versioned<${result}>`;
  return (
    `${head(`Promise<${kind}>`)}    return this.caller.write<${kind}>(` +
    `"${verb.toUpperCase()}", ${called}, ${body ? "body" : "undefined"}, options);\n  }\n`
  );
}
