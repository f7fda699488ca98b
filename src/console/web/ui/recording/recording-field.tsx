import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { elapsedText } from "../../i18n/format.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { decodeAudio } from "./decode-audio.ts";
import { LevelMeter } from "./level-meter.tsx";
import { MicrophoneError, type MicrophoneErrorKey, type Recording, recordMicrophone } from "./microphone.ts";
import { encodeWav, RECORDING_HZ } from "./wav.ts";
import "./recording.css";
import { CLIPPED_FROM, SILENT_BELOW, type Waveform, waveformOf, waveformPath } from "./waveform.ts";

interface RecordingFieldProps {
  value: File | null;
  /** It is being spoken or read. */
  coming: boolean;
  hint: string;
  disabled: boolean;
  onChange(file: File | "coming" | null): void;
}

/** Maximum length of a microphone recording. */
const MAX_SECONDS = 300;
const PIECES = 240;

type Fault = MicrophoneErrorKey | "file";

/** A recording by file or by microphone, seen and heard before it is sent. */
export function RecordingField({ value, coming, hint, disabled, onChange }: RecordingFieldProps) {
  const { t } = useTranslation();
  const [fault, setFault] = useState<Fault | null>(null);
  const take = (file: File | "coming" | null) => {
    setFault(null);
    onChange(file);
  };
  const fail = (why: Fault) => {
    setFault(why);
    onChange(null);
  };
  const microphone = useMicrophone(take, fail);
  const choose = async (file: File | undefined) => {
    if (!file) return;
    take("coming");
    try {
      take(await asWav(file));
    } catch {
      fail("file");
    }
  };
  return (
    <section className="recording stack" aria-label={t("field.audio")}>
      <label htmlFor="recording">{t("field.audio")}</label>
      <p className="soft" id="recording-hint">
        {hint}
      </p>
      {!value && !microphone.level && (
        <div className="row">
          <Button
            variant="default"
            disabled={disabled || coming}
            loading={microphone.asking}
            onClick={microphone.start}
          >
            <MicrophoneSign /> {t("recording.start")}
          </Button>
          <input
            id="recording"
            type="file"
            accept="audio/*"
            aria-describedby="recording-hint"
            disabled={disabled || coming}
            onChange={(event) => void choose(event.currentTarget.files?.[0])}
          />
        </div>
      )}
      {microphone.level && <Meter {...microphone.level} onFinish={microphone.finish} onCancel={microphone.cancel} />}
      {fault && (
        <p className="fault" role="alert">
          {t(`recording.${fault}`)}
        </p>
      )}
      {value && <Preview file={value} onRemove={() => take(null)} />}
    </section>
  );
}

/** WAV files go as they are; what else the browser can play is made one. */
async function asWav(file: File): Promise<File> {
  const samples = await decodeAudio(file);
  if (/\.wav$/i.test(file.name) || file.type === "audio/wav") return file;
  const name = `${file.name.replace(/\.[^.]*$/, "")}.wav`;
  return new File([encodeWav(samples, RECORDING_HZ)], name, { type: "audio/wav" });
}

interface Level {
  peak: number;
  seconds: number;
  /** It was too loud within this recording. */
  clipped: boolean;
}

function useMicrophone(onFile: (file: File | "coming" | null) => void, onFault: (fault: Fault) => void) {
  const recording = useRef<Recording | null>(null);
  const [asking, setAsking] = useState(false);
  const [level, setLevel] = useState<Level | null>(null);
  useEffect(() => () => recording.current?.cancel(), []);
  const end = () => {
    const ended = recording.current;
    recording.current = null;
    setLevel(null);
    return ended;
  };
  const finish = async () => {
    const file = await end()?.finish();
    if (file) onFile(file);
  };
  const onPiece = (peak: number, seconds: number) => {
    if (!recording.current) return;
    setLevel((old) => ({ peak, seconds, clipped: (old?.clipped ?? false) || peak >= CLIPPED_FROM }));
    if (seconds >= MAX_SECONDS) void finish();
  };
  const start = async () => {
    setAsking(true);
    try {
      recording.current = await recordMicrophone(onPiece);
      onFile("coming");
      setLevel({ peak: 0, seconds: 0, clipped: false });
    } catch (error) {
      onFault(error instanceof MicrophoneError ? error.fault : "busy");
    }
    setAsking(false);
  };
  const cancel = () => {
    end()?.cancel();
    onFile(null);
  };
  return { asking, level, start: () => void start(), finish: () => void finish(), cancel };
}

interface MeterProps extends Level {
  onFinish(): void;
  onCancel(): void;
}

function Meter({ peak, seconds, clipped, onFinish, onCancel }: MeterProps) {
  const { t } = useTranslation();
  return (
    <div className="meter-box stack">
      <div className="row">
        <span className="chip bad">
          <span className="dot" aria-hidden="true" />
          {t("recording.on")}
        </span>
        <span className="clock" role="timer">
          {elapsedText(1_000 * seconds)}
        </span>
        <span className="space" />
        <Button onClick={onFinish} data-autofocus>
          {t("recording.finish")}
        </Button>
        <Button variant="default" onClick={onCancel}>
          {t("cancel")}
        </Button>
      </div>
      <LevelMeter peak={peak} clipped={clipped} />
    </div>
  );
}

function Preview({ file, onRemove }: { file: File; onRemove: () => void }) {
  const { t } = useTranslation();
  const url = useObjectUrl(file);
  const seen = useWaveform(file);
  return (
    <div className="stack">
      {seen && (
        <svg
          className="waveform"
          viewBox={`0 0 ${Math.max(1, seen.peaks.length)} 2`}
          preserveAspectRatio="none"
          role="img"
          aria-label={t("recording.picture", { count: Math.round(seen.seconds * 10) / 10 })}
        >
          <path d={waveformPath(seen.peaks)} vectorEffect="non-scaling-stroke" />
        </svg>
      )}
      <div className="row">
        {seen && <strong>{elapsedText(1_000 * seen.seconds)}</strong>}
        <span className="soft">{file.name}</span>
        {seen?.clipped && <span className="chip warn">{t("recording.clipped")}</span>}
        {seen && seen.peak < SILENT_BELOW && <span className="chip warn">{t("recording.silent")}</span>}
        <span className="space" />
        <Button variant="default" size="compact-md" onClick={onRemove}>
          {t("recording.again")}
        </Button>
      </div>
      {/* biome-ignore lint/a11y/useMediaCaption: the recording's words are the message's text */}
      {url && <audio controls src={url} aria-label={t("send.audio-preview")} />}
    </div>
  );
}

function useObjectUrl(file: File): string | null {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url;
}

function useWaveform(file: File): Waveform | null {
  const [seen, setSeen] = useState<Waveform | null>(null);
  useEffect(() => {
    let wanted = true;
    setSeen(null);
    void decodeAudio(file).then((samples) => wanted && setSeen(waveformOf(samples, RECORDING_HZ, PIECES)));
    return () => {
      wanted = false;
    };
  }, [file]);
  return seen;
}

function MicrophoneSign() {
  return (
    <svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true">
      <path
        d="M12 3a3 3 0 00-3 3v6a3 3 0 006 0V6a3 3 0 00-3-3zM6 11a6 6 0 0012 0M12 17v4"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
      />
    </svg>
  );
}
