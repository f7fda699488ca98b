/** Capabilities of a phone family. */
export interface PhoneModel {
  /** `no-rtp`: text only, and push responses carry no result. */
  kind: "colour" | "mono" | "no-rtp";
  /** Maximum image size in pixels; null without image support. */
  image: { width: number; height: number } | null;
}

const LARGE = { width: 559, height: 265 };

/** By product or model name; the first match counts. @source docs/decisions/0032-phone-push.md, Pages and images */
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

/** Unknown phones get audio and text. */
const UNKNOWN: PhoneModel = { kind: "mono", image: null };

/** Looks up a model by product name (`DeviceProduct`) or the phone's own model name. */
export function phoneModelByName(name: string): PhoneModel {
  return MODELS.find((each) => each.name.test(name))?.model ?? UNKNOWN;
}
