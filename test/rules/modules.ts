/**
 * The walls of the house, as data. A room is a folder of src/; it imports only rooms of lower rank and itself.
 * `campus` has no rank: it imports base only, and nobody imports it.
 */
export const LAYERS: Readonly<Record<string, number>> = {
  base: 0,
  schema: 1,
  resources: 2,
  "plugin-api": 2,
  settings: 2,
  store: 3,
  audio: 4,
  devices: 4,
  places: 4,
  access: 4,
  agent: 5,
  broadcast: 5,
  "call-manager": 5,
  health: 5,
  identity: 5,
  operations: 5,
  replication: 6,
  outbound: 6,
  extensions: 6,
  bells: 6,
  alarms: 6,
  scenarios: 6,
  areas: 6,
  inputs: 6,
  loaders: 6,
  rest: 7,
  console: 7,
  app: 8,
  cli: 9,
};

/** The simulated campus must not share a fault with what it tests. */
export const SIMULATOR = "campus";
/** The only room that the campus may use. */
export const SIMULATOR_MAY_IMPORT = "base";
/** The process entry: the one file of src/ outside the rooms, above them all. */
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
      /^src\/replication\/frame-schemas\.ts$/,
    ],
  },
  { packages: ["koa", "koa-*", "@koa/*"], folders: [/^src\/rest\//] },
  { packages: ["@node-oauth/*"], folders: [/^src\/access\//] },
  { packages: ["openid-client", "ldapts", "@node-saml/*"], folders: [/^src\/identity\//] },
  {
    packages: ["react", "react-dom", "@mantine/*", "@tanstack/*"],
    folders: [/^src\/console\/web\//],
  },
  { packages: ["pg"], folders: [/^src\/replication\/hub\//] },
];

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

/** Longest README of a room, in lines. */
export const README_LINES = 30;

/** A file longer than this usually holds two ideas; it is listed, not refused. */
export const LONG_FILE_LINES = 400;

/** Entries of worker threads: each runs once in a thread of its own, like a process. */
export const WORKER_ENTRY: RegExp = /-(worker|thread)\.ts$/;

/** Where time and chance may come from the machine itself; everywhere else a `Clock` is injected. */
export const TIME_SOURCES: readonly RegExp[] = [
  /^src\/base\/clock\.ts$/,
  /^src\/health\/machine\.ts$/,
  /^src\/console\/web\/browser-clock\.ts$/,
  WORKER_ENTRY,
  /^src\/campus\//,
];

/** Replication classes. @source schema/resource.ts, ReplicationClass */
export const REPLICATION_CLASSES: readonly string[] = ["A", "B", "C", "D", "E", "local"];
