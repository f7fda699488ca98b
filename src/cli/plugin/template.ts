import { fileURLToPath } from "node:url";
import { workerEntry } from "../../lib/worker-entry.ts";

/** Files of a new plugin by name: a lamp that shows messages, controlled by HTTP, with the test peer it is checked against. */
export function pluginTemplate(name: string): Readonly<Record<string, string>> {
  return {
    "plugin.json": `${JSON.stringify(manifestOf(name), null, 2)}\n`,
    "config.ts": CONFIG,
    "index.ts": INDEX,
    "peer.ts": peerOf(name),
    "sentences/en.json": `${JSON.stringify(SENTENCES.en, null, 2)}\n`,
    "sentences/de.json": `${JSON.stringify(SENTENCES.de, null, 2)}\n`,
    "README.md": readmeOf(name),
    "tsconfig.json": `${JSON.stringify(typesOf(), null, 2)}\n`,
  };
}

function manifestOf(name: string): object {
  return {
    name,
    version: "0.1.0",
    description: "Posts the text of messages to devices that speak HTTP.",
    extensionType: "endpoint-proxy",
    claims: [{ type: "plugins", identifier: `^${name}:` }],
    window: 64,
    enabledByDefault: false,
    listens: [],
    watches: [],
    packages: [],
    network: { deviceAttributes: ["Url"] },
  };
}

/** Types of the plugin API of this Carillon version, for editors. */
function typesOf(): object {
  const api = new URL("../../../../src/plugin-api/index.ts", workerEntry(import.meta.url, "./template"));
  return {
    compilerOptions: {
      target: "ES2023",
      module: "nodenext",
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      resolveJsonModule: true,
      paths: { "#plugin-api": [fileURLToPath(api)] },
    },
  };
}

const CONFIG = `import { integer, option, secret } from "#plugin-api";

/** Settings of the plugin; shown as a form, validated before they are stored. */
export default {
  token: secret("Bearer token sent to the device."),
  timeoutMs: integer("Response timeout of a device.", { default: 5_000, min: 100, max: 30_000 }),
};

/** Settings per notification profile or message; the plugin gets them as \`settings\` of each item. */
export const profile = {
  colour: option("Colour of the light.", ["white", "red", "blue"], { default: "white" }),
};
`;

const SENTENCES = {
  en: { "url.missing": "the device has no attribute Url", "device.refused": "the device responded with {status}" },
  de: { "url.missing": "das Gerät hat kein Attribut Url", "device.refused": "das Gerät antwortete mit {status}" },
};

const INDEX = `import { type DeliveryItem, definePlugin, defineSentences, type PluginContext } from "#plugin-api";
import config from "./config.ts";
import en from "./sentences/en.json" with { type: "json" };

/** Reasons for people; Carillon shows them in the languages of sentences/. */
const sentence = defineSentences(en);

type Settings = { token: string | null; timeoutMs: number };

/** Posts messages to devices that speak HTTP. */
export default definePlugin({
  config,
  activate(ctx) {
    ctx.deliver((batch) => {
      for (const item of batch) void deliver(ctx, ctx.config, item);
    });
    ctx.status("ok");
  },
});

/** One attempt for one device, reporting what the device confirmed; Carillon does retries and timeouts. */
async function deliver(ctx: Pick<PluginContext, "fetch" | "outcome">, settings: Settings, item: DeliveryItem) {
  const { deliveryId, device, text } = item;
  if (item.reached) return;
  const url = device.attributes.Url;
  if (!url) return ctx.outcome(deliveryId, "failed", { reason: sentence("url.missing"), retryable: false });
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (settings.token) headers.authorization = \`Bearer \${settings.token}\`;
  try {
    const body = JSON.stringify({ subject: text.subject, body: text.body, drill: item.drill, colour: item.settings.colour });
    const response = await ctx.fetch(url, { method: "POST", headers, body, timeoutMs: settings.timeoutMs });
    // A response proves that the device accepted the message, not that anybody read it.
    if (response.status < 300) return ctx.outcome(deliveryId, "accepted");
    ctx.outcome(deliveryId, "failed", { reason: sentence("device.refused", { status: response.status }), retryable: response.status >= 500 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    ctx.outcome(deliveryId, "failed", { reason, retryable: true });
  }
}
`;

function peerOf(name: string): string {
  return `import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { OpenMutePeer } from "#plugin-api";

/** A device that accepts every message and never confirms more: \`carillon plugin check\` delivers to it. */
const openPeer: OpenMutePeer = async () => {
  const server = createServer((_request, response) => void response.writeHead(204).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    config: {},
    device: {
      id: "0190a1b2-0000-7000-8000-000000000002",
      deviceIdentifier: "${name}:peer",
      attributes: { Url: \`http://127.0.0.1:\${port}/\` },
    },
    proves: "accepted",
    asked: async () => {},
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};

export default openPeer;
`;
}

function readmeOf(name: string): string {
  return `# ${name}

Posts the text of messages to devices that speak HTTP, as JSON \`{"subject", "body", "drill", "colour"}\`. A device is
\`{type: "plugins", deviceIdentifier: "${name}:<name>", attributes: {Url}}\`, sent to
\`POST /api/v1/extensions/EXTENSION_ID/endpoints/ENDPOINT_ID/devices\`: the ids of the appliance, which \`carillon init\`
printed, not that of the plugin's own extension.

## Settings

- \`token\`: bearer token sent to the device.
- \`timeoutMs\`: response timeout of a device.

In notification profiles: \`colour\` of the light.

## Delivery levels

A 2xx response means \`accepted\`. The device can't confirm that anybody read the message.

## Files

- \`plugin.json\`: what Carillon reads before the plugin runs: the devices it claims, its ports, its packages, and where it connects to.
- \`config.ts\`: its settings, and those that notification profiles have for it. It imports nothing but \`#plugin-api\`.
- \`index.ts\`: the plugin. It imports its own files, \`#plugin-api\`, modules of Node and the packages that plugin.json names
  (from a \`node_modules\` folder here; they are compiled in).
- \`sentences/en.json\`, \`sentences/de.json\`: reasons and status texts by code, in ICU MessageFormat. \`defineSentences\` renders
  the English text; Carillon reads its code and parameters and shows the translation.
- \`peer.ts\`: a device that accepts everything and confirms nothing. The plugin must not report more than the device proves.
- \`tsconfig.json\`: types for your editor.

    carillon plugin check ${name}
    carillon plugin install ${name} --data data
    carillon plugin enable ${name} --token …
`;
}
