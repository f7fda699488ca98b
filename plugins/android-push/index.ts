import {
  createOutbox,
  type DeliveryItem,
  definePlugin,
  failForMissingConfig,
  type PluginContext,
  parseRetryAfterMs,
  type SendResult,
} from "#plugin-api";
import config from "./config.ts";
import { fcmMessage } from "./fcm-message.ts";
import { sentence } from "./sentences.ts";
import {
  type AccessTokens,
  AccountRefusedError,
  createAccessTokens,
  parseServiceAccount,
  type ServiceAccount,
} from "./service-account.ts";

/** Push messages to Android apps by registration token. */
export default definePlugin({
  config,
  activate(ctx) {
    const account = parseServiceAccount(ctx.config.serviceAccount);
    if (!account) return failForMissingConfig(ctx, sentence("account-invalid"));
    const tokens = createAccessTokens(account, ctx);
    const outbox = createOutbox({
      ...ctx,
      concurrency: ctx.config.atOnce,
      undeliverableReason: ({ device }) =>
        /^[\w:.-]{10,4096}$/.test(device.deviceIdentifier) ? null : sentence("identifier-invalid"),
      send: (item) => sendMessage(item, { ...ctx, address: ctx.config.address, account, tokens }),
    });
    ctx.deliver(outbox.add);
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    // Reports a wrong key at start-up instead of at the first message.
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
    const response = await fetch(url, {
      method: "POST",
      headers,
      body: fcmMessage(item, clock.now()),
      timeoutMs: 20_000,
    });
    if (response.status === 401) tokens.invalidate(token);
    return handoffResult(response, clock.now());
  } catch (error) {
    return unreachableResult(error);
  }
}

function unreachableResult(error: unknown): SendResult {
  const message = error instanceof Error ? error.message : String(error);
  return {
    taken: false,
    reason: sentence("request-failed", { error: message }),
    retryable: !(error instanceof AccountRefusedError),
    down: true,
  };
}

/** @source FCM HTTP v1 API, ErrorCode */
function handoffResult(
  response: { status: number; headers: Record<string, string>; body: string },
  now: number,
): SendResult {
  const { status, headers } = response;
  if (status === 200) return { taken: true, level: "accepted" };
  const { code, message } = parseError(response.body);
  const reason = sentence("http-status", { status, detail: `${code} ${message}` }).trim();
  // Any other 404 may be caused by a wrong address or project.
  if (code === "UNREGISTERED") {
    return { taken: false, reason: sentence("app-removed"), retryable: false, down: false, gone: true };
  }
  const isDeviceError = code === "INVALID_ARGUMENT" || code === "SENDER_ID_MISMATCH";
  if ((status === 401 || status === 403) && !isDeviceError) {
    // An expired access token is renewed for the retry; a refused key stays refused.
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
