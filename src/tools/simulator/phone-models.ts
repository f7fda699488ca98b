/** Capabilities of a phone model; sizes in pixels and bits per pixel. */
export interface SimulatorPhoneModel {
  /** Value of the `DeviceProduct` attribute. */
  product: string;
  /** Model name in requests and on the phone's own pages. */
  modelName: string;
  width: number;
  height: number;
  depth: number;
  colour: boolean;
  /** Whether it displays CiscoIPPhoneImageFile pages. */
  showsImages: boolean;
  /** Whether it responds to pushes with a CiscoIPPhoneResponse and serves stream statistics. */
  sendsResponse: boolean;
  /** Supported internal URIs, by scheme (case-sensitive). */
  schemes: ReadonlySet<string>;
}

const KEY_SCHEMES = ["Key", "SoftKey", "Init", "Dial", "Display", "Device", "Play", "Vibrate"];
const WITH_RTP: ReadonlySet<string> = new Set([...KEY_SCHEMES, "RTPRx", "RTPMRx"]);
const WITHOUT_RTP: ReadonlySet<string> = new Set(KEY_SCHEMES);

/** Colour display, images and RTP. @source IP Phone Services Application Development Notes, image file table */
const COLOUR: SimulatorPhoneModel = {
  product: "Cisco 8845",
  modelName: "CP-8845",
  width: 559,
  height: 265,
  depth: 24,
  colour: true,
  showsImages: true,
  sendsResponse: true,
  schemes: WITH_RTP,
};

/** Greyscale display of the same size, 8 bits per pixel, images and RTP. */
const MONO: SimulatorPhoneModel = { ...COLOUR, product: "Cisco 8811", modelName: "CP-8811", depth: 8, colour: false };

/** Text only: the 7800 series displays no images; 396x162 pixels, 1 bit. */
const TEXT_ONLY: SimulatorPhoneModel = {
  ...MONO,
  product: "Cisco 7821",
  modelName: "CP-7821",
  width: 396,
  height: 162,
  depth: 1,
  showsImages: false,
};

/** Multiplatform firmware: no RTP URIs, no CiscoIPPhoneResponse. */
const MULTIPLATFORM: SimulatorPhoneModel = {
  ...COLOUR,
  product: "Cisco 8841-3PCC",
  modelName: "CP-8841-3PCC",
  sendsResponse: false,
  schemes: WITHOUT_RTP,
};

/** Model of the n-th phone: every second one has a colour display, the others are greyscale and text only in turn. */
export function modelForIndex(index: number, rtp: boolean): SimulatorPhoneModel {
  if (!rtp) return MULTIPLATFORM;
  if (index % 2 === 0) return COLOUR;
  return index % 4 === 1 ? MONO : TEXT_ONLY;
}

/** Request headers that describe the display. @source IP Phone Services Application Development Notes */
export function displayRequestHeaders(model: SimulatorPhoneModel): Record<string, string> {
  const kind = model.colour ? "C" : "G";
  return {
    "x-CiscoIPPhoneModelName": model.modelName,
    "x-CiscoIPPhoneDisplay": `${model.width},${model.height},${model.depth},${kind}`,
    Accept: "x-CiscoIPPhone/*;version=8.5,text/*,image/*",
  };
}
