import { useEffect, useState } from "react";
import type { ScenarioPreview, ScenarioRow } from "../../api/scenario-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { withPlaceholders } from "./placeholders.ts";
import { answersOf, locationOf, type StartDraft } from "./start-draft.ts";

const PAUSE_MS = 400;

/** What a start would say, and to whom, once the typing rests. */
function useForeseen(scenario: ScenarioRow, told: StartDraft) {
  const { clock } = useConsole();
  const answers = JSON.stringify(answersOf(scenario, told));
  const location = scenario.locationEnabled ? locationOf(told) : undefined;
  const wanted = JSON.stringify({
    simulatedAnswers: answers,
    ...(location ? { location: JSON.stringify(location) } : {}),
  });
  const [asked, setAsked] = useState(wanted);
  useEffect(() => {
    const timer = clock.after(PAUSE_MS, () => setAsked(wanted));
    return () => timer.cancel();
  }, [clock, wanted]);
  return useRow<ScenarioPreview>("scenarios/{scenarioId}", { scenarioId: scenario.id }, JSON.parse(asked));
}

/** Messages that a start would send, each with its recipients. */
export function StartPreview({ scenario, told }: { scenario: ScenarioRow; told: StartDraft }) {
  const { t } = useTranslation();
  const foreseen = useForeseen(scenario, told);
  const preview = foreseen.data?.preview;
  return (
    <section className="stack" aria-live="polite" aria-label={t("preview.title")}>
      <ErrorLine error={foreseen.error} />
      {preview && preview.messages.length === 0 && <p className="soft">{t("preview.none")}</p>}
      {preview?.messages.map((message) => {
        const { messageId, name, subject, body, ttsCustomContent, users, devices } = message;
        const said = (text: string) => withPlaceholders(text, scenario.fields);
        const isNobody = users.count + devices.count === 0;
        return (
          <article key={messageId} className="card foreseen">
            <div className="row">
              <strong className="grow">{said(subject ?? name)}</strong>
              <span className="soft">{name}</span>
            </div>
            {body && <p className="foreseen-text">{said(body)}</p>}
            {ttsCustomContent && <p className="soft">{t("preview.spoken", { words: said(ttsCustomContent) })}</p>}
            <p className={isNobody ? "fault" : "soft"}>
              {isNobody ? t("preview.no-recipients") : reachWords(t, users.count, devices.count)}
              {!isNobody && namesOf([...devices.first, ...users.first])}
            </p>
          </article>
        );
      })}
    </section>
  );
}

/** Recipients of a start in one line. */
export function StartPreviewSummary({ scenario, told }: { scenario: ScenarioRow; told: StartDraft }) {
  const { t } = useTranslation();
  const foreseen = useForeseen(scenario, told);
  const messages = foreseen.data?.preview?.messages;
  if (!messages) return null;
  const most = (what: "users" | "devices") => Math.max(0, ...messages.map((message) => message[what].count));
  const words = reachWords(t, most("users"), most("devices"));
  return (
    <p className={words === "" ? "fault" : "reach-line"} aria-live="polite">
      {words === "" ? t("preview.no-recipients-anywhere") : t("preview.goes-to", { words })}
    </p>
  );
}

type Say = ReturnType<typeof useTranslation>["t"];

function reachWords(t: Say, users: number, devices: number): string {
  const parts = [
    devices > 0 ? t("preview.devices", { count: devices }) : "",
    users > 0 ? t("preview.people", { count: users }) : "",
  ].filter(Boolean);
  return parts.join(", ");
}

const SHOWN_NAMES = 4;

function namesOf(rows: readonly { name: string }[]): string {
  const names = rows.slice(0, SHOWN_NAMES).map(({ name }) => name);
  return names.length === 0 ? "" : `: ${names.join(", ")}${rows.length > SHOWN_NAMES ? " …" : ""}`;
}
