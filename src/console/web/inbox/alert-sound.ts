/** Tones of an alert (Hz) and their repetitions; composed for Carillon. */
const TONES = {
  routine: { notesHz: [659, 523], times: 1 },
  emergency: { notesHz: [960, 770], times: 6 },
} as const;
const NOTE_S = 0.4;
const LOUD = 0.5;
const SILENT = 0.0001;

/** Makes messages heard. */
export interface AlertSound {
  /** Browsers make no sound before somebody has touched the page; this is called when somebody has. */
  unlock(): Promise<void>;
  readonly isUnlocked: boolean;
  play(kind: keyof typeof TONES): void;
}

/** Makes the sound of a page. */
export function createAlertSound(): AlertSound {
  const context = new AudioContext();
  return {
    async unlock() {
      await context.resume();
    },
    get isUnlocked() {
      return context.state === "running";
    },
    play(kind) {
      if (context.state !== "running") return;
      const { notesHz, times } = TONES[kind];
      const notes = Array.from({ length: times }, () => [...notesHz]).flat();
      for (const [at, hz] of notes.entries()) sound(context, hz, context.currentTime + at * NOTE_S);
    },
  };
}

function sound(context: AudioContext, hz: number, at: number): void {
  const tone = new OscillatorNode(context, { type: "triangle", frequency: hz });
  const volume = new GainNode(context, { gain: SILENT });
  volume.gain.exponentialRampToValueAtTime(LOUD, at + 0.02);
  volume.gain.exponentialRampToValueAtTime(SILENT, at + NOTE_S);
  tone.connect(volume).connect(context.destination);
  tone.start(at);
  tone.stop(at + NOTE_S);
}
