// Types: openapi-typescript's, of the schemas of both documents.
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const REF = "#/components/schemas/";
const { factory } = ts;
const keyword = (kind) => factory.createKeywordTypeNode(ts.SyntaxKind[kind]);

/** The TypeScript of these schemas. Integers are exact: what is answered is a bigint, and what is
 * sent (`asked`) may be a number too. */
export async function typesModule(schemas, asked, numbers) {
  const prepared = Object.fromEntries(
    Object.entries(schemas).map(([name, each]) => [name, marked(each, asked.has(name), numbers)]),
  );
  const nodes = await openapiTS(
    {
      openapi: "3.1.0",
      info: { title: "Tidemark", version: "1" },
      paths: {},
      components: { schemas: prepared },
    },
    { defaultNonNullable: false, rootTypes: true, rootTypesNoSchemaPrefix: true,
      silent: true, transform: integer },
  );
  return astToString(nodes);
}

/** The names of the schemas that these schemas need. */
export function reached(schemas, starts) {
  const found = new Set();
  const waiting = [...references(starts)];
  while (waiting.length) {
    const name = waiting.pop();
    if (!found.has(name)) {
      found.add(name);
      waiting.push(...references(schemas[name]));
    }
  }
  return found;
}

/** The annotation of a schema inside another module, which imports the types as `types`. */
export function hint(schema, sent = false) {
  if (schema.$ref) return `types.${schema.$ref.replace(REF, "")}`;
  if (schema.anyOf) return [...new Set(schema.anyOf.map((each) => hint(each, sent)))].join(" | ");
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => hint({ ...schema, type }, sent)).join(" | ");
  }
  if (schema.title === "Pubkey") return "Address";
  if (schema.type === "array") {
    const items = schema.items ? hint(schema.items, sent) : "unknown";
    return sent ? `readonly (${items})[]` : `(${items})[]`;
  }
  if (schema.type === "object") {
    const values = schema.additionalProperties;
    return `Record<string, ${values && values !== true ? hint(values, sent) : "unknown"}>`;
  }
  const integers = sent ? "bigint | number" : "bigint";
  const scalars = { string: "string", integer: integers, number: "number", boolean: "boolean" };
  return { ...scalars, null: "null" }[schema.type] ?? "unknown";
}

/** The names of members that somewhere are numbers, not integers: they are numbers everywhere. */
export function numberNames(schemas) {
  const found = new Set();
  const visit = (schema, name) => {
    if (typeof schema !== "object" || schema === null) return;
    if (name && [schema.type].flat().includes("number")) found.add(name);
    for (const [key, each] of Object.entries(schema)) {
      if (key === "properties") Object.entries(each).forEach(([member, one]) => visit(one, member));
      else visit(each, name);
    }
  };
  Object.values(schemas).forEach((each) => visit(each, ""));
  return [...found].sort();
}

function* references(schema) {
  if (Array.isArray(schema)) for (const each of schema) yield* references(each);
  else if (typeof schema === "object" && schema !== null) {
    for (const [name, each] of Object.entries(schema)) {
      if (name === "$ref") yield each.replace(REF, "");
      else yield* references(each);
    }
  }
}

/** The schema, each of whose integers says whether it is sent, and those so named are numbers. */
function marked(schema, isAsked, numbers, name = "") {
  if (typeof schema !== "object" || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((each) => marked(each, isAsked, numbers, name));
  const found = Object.fromEntries(
    Object.entries(schema).map(([key, each]) => {
      if (key !== "properties") return [key, marked(each, isAsked, numbers, name)];
      const members = Object.entries(each).map(([member, one]) => [
        member,
        marked(one, isAsked, numbers, member),
      ]);
      return [key, Object.fromEntries(members)];
    }),
  );
  const kinds = [schema.type].flat();
  if (!kinds.includes("integer")) return found;
  if (!numbers.includes(name)) return { ...found, "x-asked": isAsked };
  return { ...found, type: kinds.map((each) => (each === "integer" ? "number" : each)) };
}

function integer(schema) {
  const kinds = [schema.type].flat();
  if (!kinds.includes("integer") || schema.enum) return undefined;
  const nodes = [keyword("BigIntKeyword")];
  if (schema["x-asked"]) nodes.push(keyword("NumberKeyword"));
  if (kinds.includes("null")) nodes.push(factory.createLiteralTypeNode(factory.createNull()));
  return factory.createUnionTypeNode(nodes);
}
