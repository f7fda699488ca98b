import {
  createOutbox,
  type DeliveryItem,
  definePlugin,
  failForMissingConfig,
  type PluginContext,
  type SendResult,
} from "#plugin-api";
import config from "./config.ts";
import { fcmMessage } from "./fcm-message.ts";
import {
  type AccessTokens,
  AccountRefusedError,
  createAccessTokens,
  parseServiceAccount,
  type ServiceAccount,
} from "./service-account.ts";

/** Push messages to Android apps, each by its registration token. */
export default definePlugin({
  config,
  activate(ctx) {
    const account = parseServiceAccount(ctx.config.serviceAccount);
    if (!account) return failForMissingConfig(ctx, "serviceAccount is not set to a service account's key file");
    const tokens = createAccessTokens(account, ctx);
    const outbox = createOutbox({
      ...ctx,
      concurrency: ctx.config.atOnce,
      undeliverableReason: ({ device }) =>
        /^[\w:.-]{10,4096}$/.test(device.deviceIdentifier) ? null : "it is no registration token",
      send: (item) => sendMessage(item, { ...ctx, address: ctx.config.address, account, tokens }),
    });
    ctx.deliver(outbox.add);
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    // A wrong key is told before it is needed.
    void tokens.get().then(
      () => outbox.reportResult({ taken: true, level: "accepted" }),
      (error) => outbox.reportResult(unreachableResult(error)),
    );
  },
});

interface SendDeps extends Pick<PluginContext, "clock" | "fetch"> {
  address: string;
  account: ServiceAccount;
  tokens: AccessTokens;
}

async function sendMessage(
  item: DeliveryItem,
  { clock, fetch, address, account, tokens }: SendDeps,
): Promise<SendResult> {
  try {
    const url = `${address.replace(/\/+$/, "")}/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`;
    const token = await tokens.get();
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const answer = await fetch(url, {
      method: "POST",
      headers,
      body: fcmMessage(item, clock.now()),
      timeoutMs: 20_000,
    });
    if (answer.status === 401) tokens.invalidate(token);
    return handoffResult(answer, clock.now());
  } catch (error) {
    return unreachableResult(error);
  }
}

function unreachableResult(error: unknown): SendResult {
  const words = error instanceof Error ? error.message : String(error);
  return {
    taken: false,
    reason: `the push service: ${words}`,
    retryable: !(error instanceof AccountRefusedError),
    down: true,
  };
}

/** @source FCM HTTP v1, ErrorCode */
function handoffResult(
  answer: { status: number; headers: Record<string, string>; body: string },
  now: number,
): SendResult {
  const { status, headers } = answer;
  if (status === 200) return { taken: true, level: "accepted" };
  const { code, message } = parseError(answer.body);
  const reason = `the push service answered ${status}: ${code} ${message}`.trim();
  // Another 404 may come of an address or a project that was set wrong.
  if (code === "UNREGISTERED") {
    return { taken: false, reason: "The app is not installed any more.", retryable: false, down: false, gone: true };
  }
  const isOfDevice = code === "INVALID_ARGUMENT" || code === "SENDER_ID_MISMATCH";
  if ((status === 401 || status === 403) && !isOfDevice) {
    // A token that has just ended is replaced at the next try; a key that is refused stays so.
    return { taken: false, reason, retryable: status === 401, down: true };
  }
  const isBusy = status === 429 || status >= 500;
  const retryAfterMs = isBusy ? parseRetryAfterMs(headers["retry-after"], now) : null;
  const more = retryAfterMs === null ? {} : { retryAfterMs };
  return { taken: false, reason, retryable: isBusy, down: status >= 500, ...more };
}

function parseError(body: string): { code: string; message: string } {
  try {
    const { error } = JSON.parse(body) as {
      error?: { status?: string; message?: string; details?: { errorCode?: string }[] };
    };
    const code = error?.details?.find(({ errorCode }) => errorCode)?.errorCode ?? error?.status ?? "";
    return { code, message: (error?.message ?? "").slice(0, 200) };
  } catch {
    return { code: "", message: body.trim().slice(0, 200) };
  }
}

/** Seconds or a date; null when it does not say. @source RFC 9110 §10.2.3 */
function parseRetryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const waitMs = Number.isFinite(Number(header)) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : null;
}
