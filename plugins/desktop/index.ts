import { randomBytes } from "node:crypto";
import { type ConfigOf, definePlugin, type PluginContext, type PluginRequest, type PluginResponse } from "#plugin-api";
import config from "./config.ts";
import { createDesktopScreens, type DesktopScreens, identifierOfToken } from "./desktop-screens.ts";
import { sentence } from "./sentences.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** A token of 256 bits in base64url. */
const TOKEN = /^[\w-]{43}$/;
const SWEEP_MS = 10_000;
const IDENTIFIER = /^[0-9a-f]{64}$/;

/** Desktops and displays: each polls for its screen and confirms what it displays. */
export default definePlugin({
  config,
  activate(ctx) {
    const run = randomBytes(6).toString("base64url");
    const screens = createDesktopScreens({ clock: ctx.clock, waitMs: ctx.config.waitSeconds * 1_000, run });
    ctx.deliver((batch) => {
      for (const item of batch) {
        if (IDENTIFIER.test(item.device.deviceIdentifier)) screens.show(item);
        else {
          const reason = sentence("identifier-invalid");
          ctx.outcome(item.deliveryId, "failed", { reason, retryable: false });
        }
      }
    });
    ctx.stop(({ deliveryIds }) => screens.clear(deliveryIds));
    // Also removes messages that wait behind another one and were never displayed.
    ctx.onEvent("notification.stopped", ({ notificationId }) => screens.cancelNotification(notificationId));
    ctx.probe(async (device) => {
      if (screens.isConnected(device.deviceIdentifier)) return { proof: "answered" };
      return { proof: null, reason: sentence("not-connected") };
    });
    ctx.every(SWEEP_MS, screens.removeExpired);
    ctx.route("token", createToken);
    ctx.route("screen", (request) => handleScreenRequest(request, screens, ctx));
    ctx.route("receipt", (request) => handleReceipt(request, screens, ctx));
    ctx.status("ok");
  },
});

/** Issues a token for a new desktop, with the matching device identifier. */
function createToken({ method }: PluginRequest): PluginResponse {
  if (method !== "POST") return { status: 405, headers: { allow: "POST" } };
  const token = randomBytes(32).toString("base64url");
  return jsonResponse(200, { token, deviceIdentifier: identifierOfToken(token) });
}

/** Long poll for the screen: `{token, version}`. */
async function handleScreenRequest(
  request: PluginRequest,
  screens: DesktopScreens,
  ctx: Context,
): Promise<PluginResponse> {
  const { token, version } = parseJsonBody(request);
  if (typeof token !== "string" || !TOKEN.test(token)) return { status: 401 };
  const screen = await screens.poll(token, typeof version === "string" ? version : "");
  for (const { deliveryId } of screen.messages) ctx.outcome(deliveryId, "sent");
  return jsonResponse(200, screen);
}

/** Display receipt or response: `{token, deliveryId, option?}`. */
async function handleReceipt(request: PluginRequest, screens: DesktopScreens, ctx: Context): Promise<PluginResponse> {
  const { token, deliveryId, option } = parseJsonBody(request);
  if (typeof token !== "string" || !TOKEN.test(token)) return { status: 401 };
  const item = screens.findItem(token, Number(deliveryId));
  if (!item) return { status: 404 };
  if (typeof option !== "string") {
    ctx.outcome(item.deliveryId, "playing");
    screens.markShown(item);
    return { status: 204 };
  }
  try {
    const reply = await ctx.confirm(item.recipient?.id ?? "", option);
    ctx.outcome(item.deliveryId, "confirmed", { afterwards: true });
    return jsonResponse(200, { reply });
  } catch (error) {
    return jsonResponse(409, { message: error instanceof Error ? error.message : String(error) });
  }
}

function parseJsonBody({ method, body }: PluginRequest): Record<string, unknown> {
  try {
    const value: unknown = method === "POST" ? JSON.parse(Buffer.from(body).toString("utf8")) : null;
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function jsonResponse(status: number, value: object): PluginResponse {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}
