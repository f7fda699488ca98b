import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createSentenceRegistry } from "../../src/lib/sentences/registry.ts";
import { readSourceTree, type SourceTree } from "./source-tree.ts";
import { literalsOf } from "./syntax.ts";

/** Files whose English only programs, logs, the command line or its readers get; a folder ends with `/`. */
const EXCEPTED: Readonly<Record<string, string>> = {
  "plugins/cap-in/alert-filter.ts": "written to the log",
  "plugins/cap-in/index.ts": "written to the log",
  "plugins/cap-in/presets.ts": "names of feeds and their formats",
  "plugins/cap-out/cap-document.ts": "in the language of the feed",
  "plugins/chat/chat-post.ts": "in each language of a message",
  "plugins/email/mail.ts": "in each language of a message",
  "plugins/http-input/input-request.ts": "answers to programs",
  "plugins/mail-input/": "answers to mail servers",
  "plugins/phone-call/call-script.ts": "in each language of a call",
  "plugins/sip/phone-line/": "written to the log",
  "plugins/sip/registrar.ts": "written to the log",
  "plugins/sip/user-agent/": "written to the log",
  "plugins/sms/gateway-callbacks.ts": "answers to gateways",
  "plugins/sms/gateway-responses.ts": "names of members",
  "plugins/sms/sms-texts.ts": "in each language of a message",
  "plugins/speakers/agent-api.ts": "answers to agents",
  "src/auth/new-passwords.ts": "with a reason, which the console words",
  "src/auth/oauth": "answers to OAuth clients",
  "src/auth/password-names.ts": "words of names",
  "src/bells/offline-rings.ts": "refusals to plugins",
  "src/bells/schedule-lint": "code of a finding",
  "src/devices/logical-expression.ts": "with a reason, which the console words",
  "src/http/actions/appliance-upgrades.ts": "description of the API",
  "src/http/actions/authorize.ts": "answers to OAuth clients",
  "src/http/actions/oauth.ts": "answers to OAuth clients",
  "src/http/actions/provider-login.ts": "description of the API",
  "src/http/api.ts": "names of credentials in the audit",
  "src/http/malformed-request.ts": "answers to programs",
  "src/http/openapi/": "description of the API",
  "src/http/reports/": "named by the key of the report",
  "src/http/scim/": "answers to directories",
  "src/inputs/phone/prompts.ts": "in each language of a call",
  "src/inputs/phone/pin-dialogue.ts": "name of a credential in the audit",
  "src/lib/errors.ts": "the text before an explanation",
  "src/lib/exit-codes.ts": "command line",
  "src/lib/node-version.ts": "command line",
  "src/media/streamer.ts": "written to the log",
  "src/notifications/responses/text-keywords.ts": "keywords of recipients",
  "src/ops/backup/backup-encryption.ts": "command line",
  "src/ops/diagnostics.ts": "command line",
  "src/ops/health/metrics.ts": "descriptions of metrics",
  "src/ops/systemd-watchdog.ts": "written to the log",
  "src/ops/upgrade/upgrade-bundle.ts": "command line",
  "src/ops/watchdog-worker.ts": "written to the log",
  "src/plugin-api/trigger-input.ts": "refusals to plugins",
  "src/plugin-host/compile-plugin.ts": "for authors of plugins",
  "src/plugin-host/contract/": "for authors of plugins",
  "src/plugin-host/device-reports.ts": "for authors of plugins",
  "src/plugin-host/launch-in-process.ts": "words of the engine",
  "src/plugin-host/manifest.ts": "for authors of plugins",
  "src/plugin-host/plugin-log.ts": "written to the log",
  "src/plugin-host/plugin-process-worker.ts": "written to the log",
  "src/plugin-host/plugin-sentences.ts": "for authors of plugins",
  "src/plugin-host/plugin-state.ts": "for authors of plugins",
  "src/plugin-host/process-guard.ts": "for authors of plugins",
  "src/plugin-host/readable-resources.ts": "for authors of plugins",
  "src/plugin-host/rpc-handlers.ts": "for authors of plugins",
  "src/plugin-host/unknown-settings.ts": "written to the log",
  "src/scim/": "answers to directories",
  "src/store/data-directory.ts": "command line",
  "src/store/data-version.ts": "command line",
  "src/store/database.ts": "command line",
  "src/store/key-fingerprint.ts": "command line",
  "src/store/migrations/": "texts of earlier releases",
  "src/store/secrets.ts": "command line",
  "src/store/wal-checkpoint.ts": "written to the log",
  "src/sync/hub/site-session.ts": "closes a link, written to the log",
  "src/sync/protocol/": "frames between nodes",
  "src/sync/transport/": "frames between nodes",
  "src/time-zones/zone-data.ts": "command line",
  "src/time-zones/zone-install.ts": "command line",
  "src/webhooks/change-feed/": "answers to programs",
  "src/wiring/api-server.ts": "answers to programs",
  "src/wiring/backup-commands.ts": "command line",
  "src/wiring/bell-services.ts": "names of modules in the log",
  "src/wiring/cloud-link.ts": "command line",
  "src/wiring/cloud-node/": "command line",
  "src/wiring/control-": "command line",
  "src/wiring/foundation.ts": "names of modules in the log",
  "src/wiring/init.ts": "command line",
  "src/wiring/install-upgrade.ts": "command line",
  "src/wiring/modules.ts": "names of modules in the log",
  "src/wiring/packaged-version.ts": "command line",
  "src/wiring/require-database.ts": "command line",
  "src/wiring/restore.ts": "command line",
  "src/wiring/rotate-key.ts": "command line",
};

/** Folders whose texts other rules look at, or that have none for people: descriptions of fields, pages, commands. */
const NOT_READ =
  /^src\/(api-client|cli|console\/web|gateway|ha|resources|schema|settings|speaker-agent|tools|web-pages)\/|^src\/wiring\/demo/;

/** Calls whose texts describe fields and metrics, or are written to the log. */
const DESCRIPTIONS =
  /^(text|integer|boolean|timestamp|option|ref|uuid|internal|json|many|list|number|secret|object|computed|date|file|column|.*[fF]ield|in(Query|Header)|header|anyJson|metrics\.add\w+|gauge|counter|count|textAttribute)$/;
const LOGS = /(^|[.#])log\??(\.|$)|^(Bug|Range)Error$|\.onStop$|^onStop$|metrics\.|^gauge/;

/** At least three words, one of them followed by another in small letters. */
function isSentence(text: string): boolean {
  return (
    /^[A-Za-z0-9].* /s.test(text) && /[A-Za-z]{2,} [a-z]/.test(text) && (text.match(/[A-Za-z]{2,}/g) ?? []).length > 2
  );
}

const CODE =
  /\b(SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|EXISTS|CASE|WHEN|ALTER|DROP|AND|FROM|WHERE|REFERENCES|ORDER BY|AS|ROLLBACK|RELEASE|SAVEPOINT|PRAGMA|COLLATE)\b|^SET |^\w+ [a-z]$|="|^Digest |^CUCM|carillon secret (key|hand-over)|^end of the audit$|^openid |^\w+-\w+ remove$/;

const registry = createSentenceRegistry();
for (const name of readdirSync("plugins")) {
  const file = `plugins/${name}/sentences/en.json`;
  if (existsSync(file)) registry.set(name, { en: JSON.parse(readFileSync(file, "utf8")) as Record<string, string> });
}

/** English sentences of sources that no catalogue has, by file and line. */
function untranslated(sources: SourceTree): { path: string; line: number; what: string }[] {
  return [...sources].flatMap(([path, text]) =>
    literalsOf(path, text).flatMap(({ line, what, within: [innermost = "", next = ""] }) => {
      if (!isSentence(what) || CODE.test(what) || DESCRIPTIONS.test(innermost) || LOGS.test(innermost)) return [];
      if (/^(doc|docs|help|description):$/.test(innermost) || next === "docs:" || /^docs?:$/.test(next)) return [];
      const explanation = what.replace(/^Field \S+ is not valid\.\s*/, "");
      return explanation === "" || registry.read(what) || registry.read(explanation) ? [] : [{ path, line, what }];
    }),
  );
}

const isExcepted = (path: string) => Object.keys(EXCEPTED).find((start) => path.startsWith(start));

it("finds no English sentence for people outside the catalogues", () => {
  const sources = readSourceTree(["src", "plugins"], (path) => path.endsWith(".ts") && !NOT_READ.test(path));
  const found = untranslated(sources);
  expect(
    found.filter(({ path }) => !isExcepted(path)).map(({ path, line, what }) => `${path}:${line}: ${what}`),
  ).toEqual([]);
  const needed = new Set(found.map(({ path }) => isExcepted(path)));
  expect(Object.keys(EXCEPTED).filter((start) => !needed.has(start))).toEqual([]);
});

it("reports a sentence that is written beside the catalogues", () => {
  const planted = (text: string) => untranslated(new Map([["src/x/y.ts", text]])).map(({ what }) => what);
  expect(planted(`throw new CallerError("conflict", \`The lamp \${name} is broken today.\`);`)).toEqual([
    "The lamp 2 is broken today.",
  ]);
  expect(planted('ctx.status("degraded", "the lamp is broken");')).toEqual(["the lamp is broken"]);
  expect(planted('log.warn({ event: "x.y" }, "the lamp is broken"); text("Name of the lamp."); f("a lamp");')).toEqual(
    [],
  );
  expect(planted(`const reason = \`No response within \${limit} s.\`;`)).toEqual([]);
});

/** Nouns that the command line counts; one of them must not be in the plural. */
const COUNTED =
  /(?<!at most |than )\b\d (files|rows|entries|devices|phones|people|users|messages|lines|days|sites|appliances|errors|warnings|rings|bells|backups|tenants|values|zones|deliveries|recipients|answers|positions)\b/;

it("counts in the command line by counted(), which knows the singular", () => {
  const commands = readSourceTree(["src/cli"], (path) => path.endsWith(".ts"));
  const found = (sources: SourceTree) =>
    [...sources].flatMap(([path, text]) => {
      // What a template contains is a number from 2 on; a limit is known.
      const templates = literalsOf(path, text).filter(
        ({ what, within }) => COUNTED.test(what) && within[0] !== "counted",
      );
      return templates.map(({ line, what }) => `${path}:${line}: ${what}`);
    });
  expect(found(commands)).toEqual([]);
  const planted = "out(`$" + "{n} files in the folder`, `at most $" + "{m} files`);";
  expect(found(new Map([["src/cli/x.ts", planted]]))).toHaveLength(1);
});
