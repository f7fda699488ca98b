import { useEffect, useRef, useState } from "react";
import { UpstreamError } from "../../../../lib/errors.ts";
import type { RouteFor, RouteParams } from "../../api/routes.ts";
import type { AcceptedNotification, NotificationRow } from "../../api/rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { reachWarningOf, reachWarningText } from "./reach-warning-text.ts";

interface Sending {
  body: object;
  route: RouteFor<"post">;
  params: RouteParams;
}

/**
 * Sends exactly once, and says if no one is reached: nothing else is sent while a request is in flight, and a retry has the same idempotency key. A
 * new key is used when `of` changes.
 */
export function useSend<T = NotificationRow>(of: unknown = null) {
  const { client, notify } = useConsole();
  const { t } = useTranslation();
  const busy = useRef(false);
  const last = useRef({ text: "", key: "" });
  const [sent, setSent] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another message is another send
  useEffect(() => {
    last.current = { text: "", key: "" };
    setSent(false);
  }, [of]);
  const keyFor = (text: string): string => {
    if (last.current.text !== text) last.current = { text, key: newKey() };
    return last.current.key;
  };
  const sending = useRowMutation<Sending, T>("notifications", ({ body, route, params }) => {
    const key = keyFor(`${route} ${JSON.stringify(params)} ${textOf(body)}`);
    return client.post<T>(route, params, body, { "Idempotency-Key": key }).catch(unlessRefused);
  });
  const send = (
    body: object,
    onSent: (row: T) => void,
    route: RouteFor<"post"> = "notifications",
    params: RouteParams = {},
    onFault: (error: unknown) => void = () => {},
  ): void => {
    if (busy.current) return;
    busy.current = true;
    sending.mutate(
      { body, route, params },
      {
        onSuccess(row) {
          setSent(true);
          const accepted = row as Partial<AcceptedNotification>;
          const warning = reachWarningOf(accepted);
          if (warning) notify(`${t("live.no-one-why")}: ${reachWarningText(warning, t)}`);
          const unfilled = accepted.unfilledVariables ?? [];
          if (unfilled.length > 0) notify(t("live.unfilled", { names: unfilled.join(", ") }));
          onSent(row);
        },
        onError: onFault,
        onSettled() {
          busy.current = false;
        },
      },
    );
  };
  return { send, sent, isPending: sending.isPending, error: sending.error };
}

/** Without a response the outcome is unknown. */
function unlessRefused(error: unknown): never {
  throw error instanceof UpstreamError ? new UpstreamError("outcome-unknown", "", {}, error) : error;
}

function textOf(body: object): string {
  if (!(body instanceof FormData)) return JSON.stringify(body);
  return JSON.stringify([...body].map(([name, value]) => [name, typeof value === "string" ? value : value.name]));
}

/** Not crypto.randomUUID(), which browsers offer on secure pages only. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
