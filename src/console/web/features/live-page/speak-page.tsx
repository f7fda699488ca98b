import { Select, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ALERT_TONE_NAMES } from "../../../../resources/messages/alert-tones.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ModeBar } from "../../ui/mode-bar.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { DrillChip } from "../../ui/status-chip.tsx";
import { ToneButton } from "../../ui/tone-button.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.tsx";
import { Recipients } from "../notifications/compose-fields.tsx";
import { EMPTY_DRAFT, type NotificationDraft } from "../notifications/notification-draft.ts";
import { TalkButton } from "./talk-button.tsx";
import { useAllCall } from "./use-all-call.ts";
import { type LivePageState, useLivePage } from "./use-live-page.ts";
import "../../ui/input-styles.ts";
import { PageTitle } from "../../ui/page-title.tsx";

const OPEN: readonly LivePageState["state"][] = ["asking", "calling", "tone", "on-air"];

/** Speak to devices in person. */
export default function SpeakPage() {
  const { t } = useTranslation();
  const [message, setMessage] = useState<NotificationDraft>({
    ...EMPTY_DRAFT,
    subject: t("live-page.subject"),
    alertTone: "chime",
  });
  const { speaking, voice, start, finish } = useLivePage();
  const isOpen = OPEN.includes(speaking.state);
  const change = (part: Partial<NotificationDraft>) => setMessage((old) => ({ ...old, ...part }));
  const { subject, alertTone, deviceGroupIds, distributionListIds, drill } = message;
  const isAllCall = useAllCall(deviceGroupIds);
  const isReady = subject.trim() !== "" && deviceGroupIds.length + distributionListIds.length > 0;
  return (
    <div className={drill ? "page in-drill" : "page"}>
      {useUnsavedChanges(isOpen)}
      <SectionTabs of="send" />
      <PageTitle>
        {t("live-page.title")} <DrillChip drill={drill} />
      </PageTitle>
      <ModeBar drill={drill} onChange={(next) => !isOpen && change({ drill: next })} />
      <div className="split">
        <fieldset className={drill ? "card drill-edge" : "card live-edge"} disabled={isOpen}>
          <legend className="visually-hidden">{t("live-page.whom")}</legend>
          <Recipients message={message} locked={() => isOpen} onChange={change} />
          <TextInput
            label={t("field.subject")}
            description={t("live-page.subject-hint")}
            required
            maxLength={255}
            value={subject}
            onChange={(event) => change({ subject: event.currentTarget.value })}
          />
          <div className="row end">
            <Select
              className="grow"
              label={t("field.alertTone")}
              description={t("live-page.tone-hint")}
              searchable
              allowDeselect={false}
              data={[...ALERT_TONE_NAMES]}
              value={alertTone}
              onChange={(tone) => change({ alertTone: tone ?? "chime" })}
            />
            <ToneButton tone={alertTone} />
          </div>
        </fieldset>
        <section className="card stack" aria-label={t("live-page.title")}>
          <TalkButton
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
function listsOf({
  distributionListIds,
}: NotificationDraft): Pick<NotificationDraft, "distributionListIds"> | Record<string, never> {
  return distributionListIds.length > 0 ? { distributionListIds } : {};
}

/** What became of the page before. */
function Ended({ speaking }: { speaking: LivePageState }) {
  const { t } = useTranslation();
  if (speaking.state === "failed") {
    return speaking.fault === null ? (
      <ErrorLine error={speaking.error} />
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
      <p className={reason === "finished" ? "" : "fault"}>{t(`live-page.over-${reason}`)}</p>
      {notificationId && (
        <Link to="/broadcasts/$notificationId" params={{ notificationId }}>
          {t("live-page.look")}
        </Link>
      )}
    </div>
  );
}
