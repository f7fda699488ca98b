import { useEffect, useState } from "react";
import type { AcceptedNotification, Reach, ReachWarning, TemplateRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { type NotificationDraft, notificationBody, notificationFormData, recordingOf } from "./notification-draft.ts";
import { reachWarningOf, reachWarningText } from "./reach-warning-text.ts";

interface RecipientPreviewProps {
  message: NotificationDraft;
  template: TemplateRow | null;
  onReach(reach: PreviewedReach): void;
}

/** Number of devices that would be asked, null while it is not known, and why no one would be reached. */
export interface PreviewedReach {
  devices: number | null;
  warning: ReachWarning | null;
}

const PAUSE_MS = 400;
/** Longer recordings (about a minute) are not uploaded for a preview, so its duration does not include them. */
const MAX_BYTES = 2_000_000;

/** Recipients of the draft, by a debounced preview of the appliance. */
export function RecipientPreview({ message, template, onReach }: RecipientPreviewProps) {
  const { t } = useTranslation();
  const { reach, warning, error, pending } = useReach(message, template);
  const devices = reach ? Object.values(reach.devices).reduce((sum, n) => sum + n, 0) : null;
  useEffect(() => onReach({ devices, warning }), [devices, warning, onReach]);
  return (
    <section className="card" aria-live="polite" aria-busy={pending} aria-label={t("reach.title")}>
      <h2>{t("reach.title")}</h2>
      {!reach && !error && <p className="soft">{t("reach.choose")}</p>}
      <ErrorLine error={error} />
      {warning && (
        <p>
          <span className="chip bad">{t("live.no-one-why")}</span> {reachWarningText(warning, t)}
        </p>
      )}
      {reach && <ReachFigures reach={reach} devices={devices ?? 0} />}
    </section>
  );
}

function ReachFigures({ reach, devices }: { reach: Reach; devices: number }) {
  const { t, name } = useTranslation();
  return (
    <>
      <p className="reach-line">
        <strong>{t("reach.line", { count: devices })}</strong>
        {reach.offline.count > 0 && <span>{t("reach.line-offline", { count: reach.offline.count })}</span>}
        {reach.inUse > 0 && <span>{t("reach.line-in-use", { count: reach.inUse })}</span>}
        {reach.expectedSeconds !== null && <span>{t("reach.line-expected", { count: reach.expectedSeconds })}</span>}
      </p>
      <dl className="facts">
        {Object.entries(reach.devices).map(([type, n]) => (
          <Fact key={type} head={name("type", type)} value={String(n)} />
        ))}
        <Fact head={t("reach.people")} value={String(reach.recipientCount)} />
        <Fact head={t("reach.sound")} value={t("seconds", { count: reach.soundSeconds })} />
        {reach.expectedSeconds !== null && (
          <Fact head={t("reach.expected")} value={t("seconds", { count: reach.expectedSeconds })} />
        )}
        {reach.inUse > 0 && <Fact head={t("reach.in-use")} value={String(reach.inUse)} />}
      </dl>
      {reach.offline.count > 0 && (
        <details>
          <summary>
            <span className="chip warn">{t("reach.doubtful", { count: reach.offline.count })}</span>
          </summary>
          <ul>
            {reach.offline.devices.map((device) => (
              <li key={device.id}>
                {device.name}: <SentenceText text={device.reason} sentence={device.reasonSentence} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {reach.notReached.map(({ reason, reasonSentence, count }) => (
        <p key={reason}>
          <span className="chip bad">{t("reach.not", { count: count })}</span>{" "}
          <SentenceText text={reason} sentence={reasonSentence} />
        </p>
      ))}
    </>
  );
}

function Fact({ head, value }: { head: string; value: string }) {
  return (
    <>
      <dt>{head}</dt>
      <dd>{value}</dd>
    </>
  );
}

interface ReachState {
  reach: Reach | null;
  warning: ReachWarning | null;
  error: unknown;
  pending: boolean;
}

const NOTHING_KNOWN = { reach: null, warning: null, error: null };

function useReach(message: NotificationDraft, template: TemplateRow | null) {
  const { client, clock } = useConsole();
  const [state, setState] = useState<ReachState>({ ...NOTHING_KNOWN, pending: false });
  const wanted = message.deviceGroupIds.length + message.distributionListIds.length > 0;
  const asked = wanted
    ? JSON.stringify(notificationBody({ ...message, subject: "–", body: "" }, template, true))
    : null;
  const recording = recordingOf(message);
  const audio = recording && recording.size <= MAX_BYTES ? recording : null;
  useEffect(() => {
    if (asked === null) return setState({ ...NOTHING_KNOWN, pending: false });
    let wantedStill = true;
    setState((old) => ({ ...old, pending: true }));
    const ask = async () => {
      try {
        const body = JSON.parse(asked) as Record<string, unknown>;
        const draft = await client.post<AcceptedNotification>(
          "notifications",
          {},
          audio ? notificationFormData(body, audio) : body,
        );
        const warning = reachWarningOf(draft);
        if (wantedStill) setState({ reach: draft.progress.preview ?? null, warning, error: null, pending: false });
        // A preview is a row like any other and is no longer needed.
        await client.remove("notifications/{notificationId}", { notificationId: draft.id });
      } catch (error) {
        if (wantedStill) setState({ ...NOTHING_KNOWN, error, pending: false });
      }
    };
    const timer = clock.after(PAUSE_MS, () => void ask());
    return () => {
      wantedStill = false;
      timer.cancel();
    };
  }, [client, clock, asked, audio]);
  return state;
}
