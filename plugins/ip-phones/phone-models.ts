/** What one family of phones can do. */
export interface PhoneModel {
  /** `no-rtp`: text only, and no word about what became of a push. */
  kind: "colour" | "mono" | "no-rtp";
  /** Largest image that fits its display, in pixels; null when it shows none. */
  image: { width: number; height: number } | null;
}

const LARGE = { width: 559, height: 265 };

/** By product or model name, first match counts. @source README.md, Models */
const MODELS: readonly { name: RegExp; model: PhoneModel }[] = [
  { name: /3PCC|multiplatform/i, model: { kind: "no-rtp", image: null } },
  { name: /\b78\d\d/, model: { kind: "mono", image: null } },
  { name: /\b8811/, model: { kind: "mono", image: LARGE } },
  { name: /\b8821/, model: { kind: "colour", image: { width: 240, height: 215 } } },
  { name: /\b8832/, model: { kind: "colour", image: { width: 480, height: 128 } } },
  { name: /\b8875/, model: { kind: "colour", image: { width: 696, height: 312 } } },
  { name: /\b88[456]\d/, model: { kind: "colour", image: LARGE } },
  { name: /\b9841/, model: { kind: "mono", image: { width: 240, height: 60 } } },
  { name: /\b9851/, model: { kind: "colour", image: { width: 320, height: 108 } } },
  { name: /\b9861/, model: { kind: "colour", image: { width: 600, height: 280 } } },
  { name: /\b9871/, model: { kind: "colour", image: { width: 960, height: 360 } } },
];

/** own choice: a phone that nobody knows plays sound and shows text. */
const UNKNOWN: PhoneModel = { kind: "mono", image: null };

/** The model that a product name (`DeviceProduct`) or a phone's own model name stands for. */
export function phoneModelByName(name: string): PhoneModel {
  return MODELS.find((each) => each.name.test(name))?.model ?? UNKNOWN;
}
