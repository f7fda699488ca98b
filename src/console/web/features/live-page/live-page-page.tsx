import { Select, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ALERT_TONE_NAMES } from "../../../../resources/messages/alert-tones.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { ModeBar } from "../../ui/mode-bar.tsx";
import { Tabs } from "../../ui/section-tabs.tsx";
import { DrillChip } from "../../ui/status-chip.tsx";
import { ToneButton } from "../../ui/tone-button.tsx";
import { useUnsaved } from "../../ui/use-unsaved-changes.tsx";
import { Recipients } from "../notifications/compose-fields.tsx";
import { EMPTY_MESSAGE, type Message } from "../notifications/notification-draft.ts";
import { OnAir } from "./talk-button.tsx";
import { useAllCall } from "./use-all-call.ts";
import { type Speaking, useLivePage } from "./use-live-page.ts";
import "../../ui/input-styles.ts";

const OPEN: readonly Speaking["state"][] = ["asking", "calling", "tone", "on-air"];

/** Speak to devices in person. */
export default function SpeakPage() {
  const { t } = useWords();
  const [message, setMessage] = useState<Message>({
    ...EMPTY_MESSAGE,
    subject: t("speak.subject"),
    alertTone: "chime",
  });
  const { speaking, voice, start, finish } = useLivePage();
  const isOpen = OPEN.includes(speaking.state);
  const change = (part: Partial<Message>) => setMessage((old) => ({ ...old, ...part }));
  const { subject, alertTone, deviceGroupIds, distributionListIds, drill } = message;
  const isAllCall = useAllCall(deviceGroupIds);
  const isReady = subject.trim() !== "" && deviceGroupIds.length + distributionListIds.length > 0;
  return (
    <div className={drill ? "page in-drill" : "page"}>
      {useUnsaved(isOpen)}
      <Tabs of="send" />
      <h1>
        {t("speak.title")} <DrillChip drill={drill} />
      </h1>
      <ModeBar drill={drill} onChange={(next) => !isOpen && change({ drill: next })} />
      <div className="split">
        <fieldset className={drill ? "card drill-edge" : "card live-edge"} disabled={isOpen}>
          <legend className="visually-hidden">{t("speak.whom")}</legend>
          <Recipients message={message} locked={() => isOpen} onChange={change} />
          <TextInput
            label={t("field.subject")}
            description={t("speak.subject-hint")}
            required
            maxLength={255}
            value={subject}
            onChange={(event) => change({ subject: event.currentTarget.value })}
          />
          <div className="row end">
            <Select
              className="grow"
              label={t("field.alertTone")}
              description={t("speak.tone-hint")}
              searchable
              allowDeselect={false}
              data={[...ALERT_TONE_NAMES]}
              value={alertTone}
              onChange={(tone) => change({ alertTone: tone ?? "chime" })}
            />
            <ToneButton tone={alertTone} />
          </div>
        </fieldset>
        <section className="card stack" aria-label={t("speak.title")}>
          <OnAir
            speaking={speaking}
            voice={voice}
            drill={drill}
            isReady={isReady}
            isHeld={isAllCall && !drill}
            onStart={() => start({ subject, alertTone, deviceGroupIds, drill, ...listsOf(message) })}
            onFinish={finish}
          />
          <Ended speaking={speaking} />
        </section>
      </div>
    </div>
  );
}

/** Lists reach people by more than the ear, which takes the right to send: without any the right to speak is enough. */
function listsOf({ distributionListIds }: Message): Pick<Message, "distributionListIds"> | Record<string, never> {
  return distributionListIds.length > 0 ? { distributionListIds } : {};
}

/** What became of the page before. */
function Ended({ speaking }: { speaking: Speaking }) {
  const { t } = useWords();
  if (speaking.state === "failed") {
    return speaking.fault === null ? (
      <FaultLine error={speaking.error} />
    ) : (
      <p className="fault" role="alert">
        {t(`recording.${speaking.fault}`)}
      </p>
    );
  }
  if (speaking.state !== "over") return null;
  const { reason, notificationId } = speaking;
  return (
    <div className="stack" role={reason === "finished" ? "status" : "alert"}>
      <p className={reason === "finished" ? "" : "fault"}>{t(`speak.over-${reason}`)}</p>
      {notificationId && (
        <Link to="/broadcasts/$notificationId" params={{ notificationId }}>
          {t("speak.look")}
        </Link>
      )}
    </div>
  );
}
