/**
 * The modules of src/ and their layers, as data. A module is a folder of src/; it imports only modules of lower layers
 * and itself. docs/architecture.md shows this table with the imports that the code has.
 */
export const LAYERS: Readonly<Record<string, number>> = {
  lib: 0,
  media: 1,
  schema: 1,
  settings: 1,
  "plugin-api": 2,
  resources: 2,
  "speaker-agent": 2,
  "api-client": 3,
  "time-zones": 3,
  store: 3,
  auth: 4,
  "call-manager": 4,
  devices: 4,
  importers: 4,
  places: 4,
  ops: 5,
  permissions: 5,
  people: 6,
  scim: 6,
  sso: 6,
  webhooks: 6,
  notifications: 7,
  alarms: 8,
  areas: 8,
  bells: 8,
  incidents: 8,
  inputs: 8,
  "plugin-host": 8,
  sync: 8,
  console: 9,
  failover: 9,
  ha: 9,
  rollout: 9,
  scenarios: 9,
  "web-pages": 9,
  "cloud-link": 10,
  readiness: 10,
  http: 11,
  wiring: 12,
  gateway: 13,
  tools: 13,
  cli: 14,
};

/** The device simulator must not share a fault with the product that it tests. */
export const SIMULATOR = "src/tools/simulator/";
/** The only module that the simulator may import. */
export const SIMULATOR_MAY_IMPORT = "src/lib/";
/** The process entry: the one file of src/ outside the modules, above them all. */
export const ENTRY = "src/main.ts";

/** Packages that only some folders may import; a name that ends in `*` stands for all that begin so. */
export const PACKAGE_OWNERS: readonly { packages: readonly string[]; folders: readonly RegExp[] }[] = [
  { packages: ["better-sqlite3", "drizzle-orm"], folders: [/^src\/store\//] },
  {
    packages: ["zod"],
    folders: [
      /^src\/schema\//,
      /^src\/settings\//,
      /^src\/plugin-api\//,
      /^plugins\/[^/]+\/config\.ts$/,
      /^src\/sync\/protocol\/frame-schemas\.ts$/,
    ],
  },
  { packages: ["koa", "@koa/*"], folders: [/^src\/http\//] },
  // Its limits and those of koa-body are set in one file.
  { packages: ["koa-*", "@fastify/busboy"], folders: [/^src\/http\/body\/body-parser\.ts$/] },
  { packages: ["@node-oauth/*"], folders: [/^src\/auth\//] },
  { packages: ["openid-client", "ldapts", "@node-saml/*"], folders: [/^src\/sso\//] },
  {
    packages: ["react", "react-dom", "@mantine/*", "@tanstack/*"],
    folders: [/^src\/console\/web\//],
  },
  { packages: ["pg"], folders: [/^src\/ha\//] },
];

/** Packages that export their internals too: the entry points that their documentation names; all others are internal. */
export const PUBLIC_ENTRIES: Readonly<Record<string, readonly string[]>> = {
  "drizzle-orm": ["drizzle-orm", "drizzle-orm/sqlite-core"],
  "koa-body": ["koa-body"],
  "@fastify/busboy": ["@fastify/busboy"],
};

/** What a plugin may import of Carillon. */
export const PLUGIN_API_SPECIFIER = "#plugin-api";

/** Names that say nothing of what lives in a file or folder. */
export const MEANINGLESS_NAMES: readonly string[] = [
  "utils",
  "util",
  "helpers",
  "helper",
  "common",
  "misc",
  "manager",
  "types",
];

/** A file longer than this usually holds two ideas; it is listed, not refused. */
export const LONG_FILE_LINES = 400;

/** Entries of worker threads: each runs once in a thread of its own, like a process. */
export const WORKER_ENTRY: RegExp = /-(worker|thread)\.ts$/;

/** Where time and chance may come from the machine itself; everywhere else a `Clock` is injected. */
export const TIME_SOURCES: readonly RegExp[] = [
  /^src\/lib\/clock\.ts$/,
  // Measures the event loop of this thread.
  /^src\/lib\/current-work\.ts$/,
  /^src\/ops\/health\/host-metrics\.ts$/,
  /^src\/console\/web\/browser-clock\.ts$/,
  WORKER_ENTRY,
  /^src\/tools\/simulator\//,
];

/** Replication classes. @source schema/resource.ts, ReplicationClass */
export const REPLICATION_CLASSES: readonly string[] = ["A", "B", "C", "D", "E", "local"];
