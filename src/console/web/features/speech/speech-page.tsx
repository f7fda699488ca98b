import { Button, Select, Switch, Textarea } from "@mantine/core";
import { useState } from "react";
import { TTS_SPEEDS } from "../../../../resources/messages/message-options.ts";
import { TTS_LANGUAGES } from "../../../../resources/speech/tts-languages.ts";
import type { LexiconRow, SpeechDefaultRow, VoiceRow } from "../../api/place-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { RowSheet } from "../../ui/row-sheet.tsx";
import { useSpeechPreview } from "../../ui/use-speech-preview.ts";
import "../../ui/input-styles.ts";
import "../../ui/lines.css";

/** Text-to-speech: voices and pronunciations. */
export default function SpeechPage() {
  const { t } = useTranslation();
  return (
    <ListPage<LexiconRow>
      tabs="send"
      title={t("speech.title")}
      add={t("speech.add")}
      none={t("speech.none")}
      route="tts-lexicons"
      sort="find"
      opener={{ head: t("field.find"), width: "1fr", sort: "find", text: (row) => row.find }}
      columns={[
        { id: "replace", head: t("field.replace"), width: "1fr", sort: "replace", cell: (row) => row.replace },
        {
          id: "language",
          head: t("field.language"),
          width: "8rem",
          sort: "language",
          side: true,
          cell: (row) => row.language,
        },
      ]}
      sheet={(id, onClose) => (
        <RowSheet
          key={id}
          id={id}
          item="tts-lexicons/{ttsLexiconId}"
          titleField="find"
          newTitle={t("speech.add")}
          onClose={onClose}
          fields={[
            { name: "find" },
            { name: "replace" },
            { name: "language", choices: TTS_LANGUAGES.map((value) => ({ value, label: value })) },
          ]}
        />
      )}
    >
      <VoiceCard />
      <p className="soft">{t("speech.intro")}</p>
    </ListPage>
  );
}

function VoiceCard() {
  const { t } = useTranslation();
  const voices = useRows<VoiceRow>("tts-voices", {}, { limit: 1_000, sort: "name" });
  const rows = voices.data?.data ?? [];
  return (
    <section className="card" aria-label={t("speech.voice")}>
      <ErrorLine error={voices.error} />
      {voices.data && rows.length === 0 && <p>{t("speech.voices-none")}</p>}
      {rows.length > 0 && (
        <div className="grid">
          <DefaultVoice voices={rows} />
          <VoiceSample voices={rows} />
        </div>
      )}
    </section>
  );
}

function choicesOf(voices: readonly VoiceRow[]) {
  return voices.map(({ id, name, language }) => ({ value: id, label: [name, language].filter(Boolean).join(" · ") }));
}

function DefaultVoice({ voices }: { voices: readonly VoiceRow[] }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const defaults = useRows<SpeechDefaultRow>("tts-defaults", {}, { limit: 1 });
  const row = defaults.data?.data[0];
  const change = useRowMutation("tts-defaults", async (ttsVoiceId: string | null) => {
    await client.put("tts-defaults/{ttsDefaultId}", { ttsDefaultId: row?.id ?? "" }, { ttsVoiceId });
    notify(t("saved"));
  });
  return (
    <div className="stack">
      <Select
        label={t("speech.default")}
        placeholder={t("speech.usual")}
        clearable
        searchable
        disabled={!row?.permissions.includes("put")}
        data={choicesOf(voices)}
        value={row?.ttsVoiceId ?? null}
        onChange={(id) => change.mutate(id)}
      />
      <ErrorLine error={defaults.error ?? change.error} />
    </div>
  );
}

function VoiceSample({ voices }: { voices: readonly VoiceRow[] }) {
  const { t, name } = useTranslation();
  const [text, setText] = useState(t("speech.sample"));
  const [voice, setVoice] = useState<string | null>(null);
  const [speed, setSpeed] = useState<string>("normal");
  const [asWritten, setAsWritten] = useState(false);
  const spoken = useSpeechPreview();
  const speak = () =>
    spoken.speak({
      ttsType: "custom-text",
      ttsCustomContent: text,
      ttsSpeed: speed,
      ignoreLexicon: asWritten,
      ...(voice ? { ttsVoiceId: voice } : {}),
    });
  return (
    <div className="stack">
      <Textarea
        label={t("speech.text")}
        autosize
        minRows={2}
        value={text}
        onChange={(e) => setText(e.currentTarget.value)}
      />
      <div className="row end">
        <Select
          className="grow"
          label={t("speech.voice")}
          placeholder={t("speech.default")}
          clearable
          searchable
          data={choicesOf(voices)}
          value={voice}
          onChange={setVoice}
        />
        <Select
          label={t("speech.speed")}
          allowDeselect={false}
          w="9rem"
          data={TTS_SPEEDS.map((value) => ({ value, label: name("speed", value) }))}
          value={speed}
          onChange={(value) => setSpeed(value ?? "normal")}
        />
      </div>
      <Switch
        label={t("speech.as-written")}
        checked={asWritten}
        onChange={(e) => setAsWritten(e.currentTarget.checked)}
      />
      <div>
        <Button
          loading={spoken.isPending}
          disabled={text.trim() === ""}
          onClick={spoken.isPlaying ? spoken.stop : speak}
        >
          {spoken.isPlaying ? t("speech.stop") : t("speech.listen")}
        </Button>
      </div>
      <ErrorLine error={spoken.error} />
    </div>
  );
}
