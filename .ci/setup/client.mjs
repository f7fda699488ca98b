import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withProgress } from "./progress.mjs";
import { say } from "./tree.mjs";

const NOTE = "Made from the API's description; `npm run client` makes it anew. Never edited.";

const INDEX = `// ${NOTE}
import createFetchClient from "openapi-fetch";

export function createCarillonClient({ url, token, ...options }) {
  const headers = token === undefined ? {} : { authorization: \`Bearer \${token}\` };
  return createFetchClient({ ...options, baseUrl: \`\${url.replace(/\\/$/, "")}/api\`, headers: { ...headers, ...options.headers } });
}
`;

const TYPES = `// ${NOTE}
import type { Client, ClientOptions } from "openapi-fetch";
import type { components, operations, paths } from "./schema.js";

export type { components, operations, paths };

/** A row or another object of the API, by the name of its schema. */
export type Schema<N extends keyof components["schemas"]> = components["schemas"][N];

/** Where the appliance is, such as https://carillon.example.org, and the token to act with. */
export interface CarillonClientOptions extends Omit<ClientOptions, "baseUrl"> {
  url: string;
  token?: string;
}

/** Makes a client: \`client.GET("/v1/users", { params: { query: { limit: 10 } } })\`. */
export function createCarillonClient(options: CarillonClientOptions): Client<paths>;
`;

/** Without `--immutable`: openapi-fetch takes a readonly list for an object, and what it answers would have no methods. */
const OPTIONS = ["--default-non-nullable=false"];

/**
 * Makes the package carillon-client in dist/client from the API's description: openapi.json, its types, and a client for
 * Node and browsers. Needs the compiled product; while the description stays the same, nothing is made anew. Returns
 * false when that failed.
 * @param {string} root
 */
export function buildClient(root) {
  if (!existsSync(join(root, "src/http/served-actions.ts"))) return true;
  const folder = join(root, "dist/client");
  mkdirSync(folder, { recursive: true });
  const document = join(folder, "openapi.json");
  const run = (/** @type {string[]} */ args) =>
    spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  const described = withProgress({ what: "describing the API" }, () =>
    run([join(root, "dist/src/main.js"), "openapi", "--out", document]),
  );
  if (described.status !== 0) return failed(described.stderr);
  const stamp = createHash("sha256");
  for (const part of [readFileSync(document), INDEX, TYPES, ...OPTIONS]) stamp.update(part);
  const stamped = stamp.digest("hex");
  if (readText(join(folder, ".stamp")) === stamped) return true;
  say("set-up: building the API client …");
  const generator = join(root, "node_modules/openapi-typescript/bin/cli.js");
  const generated = withProgress({ what: "building the API client" }, () =>
    run([generator, document, "-o", join(folder, "schema.d.ts"), ...OPTIONS]),
  );
  if (generated.status !== 0) return failed(generated.stderr);
  writeFileSync(join(folder, "index.js"), INDEX);
  writeFileSync(join(folder, "index.d.ts"), TYPES);
  writeFileSync(join(folder, "package.json"), manifest(root));
  writeFileSync(join(folder, ".stamp"), stamped);
  return true;
}

/** @param {string} words */
function failed(words) {
  say(`set-up: the API client could not be built: ${words.slice(0, 1_000)}`);
  return false;
}

/** @param {string} root */
function manifest(root) {
  const { version, license, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const own = {
    name: "carillon-client",
    version,
    license,
    type: "module",
    description: "Typed client of the Carillon API.",
    exports: { ".": { types: "./index.d.ts", default: "./index.js" }, "./openapi.json": "./openapi.json" },
    dependencies: { "openapi-fetch": devDependencies["openapi-fetch"] },
  };
  return `${JSON.stringify(own, null, 2)}\n`;
}

/** @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
