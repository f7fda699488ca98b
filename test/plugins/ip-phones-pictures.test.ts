import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPageStore } from "../../plugins/ip-phones/page-store.ts";
import {
  displayName,
  displayOfPhone,
  type PhoneDisplay,
  parseDisplayName,
} from "../../plugins/ip-phones/phone-display.ts";
import { phoneModelByName } from "../../plugins/ip-phones/phone-models.ts";
import { fittedSize } from "../../plugins/ip-phones/picture-fitting.ts";
import { createPictureStore, type PictureStore } from "../../plugins/ip-phones/picture-store.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { DEFAULT_PROFILE } from "../../src/plugin-api/index.ts";
import { externalProgram } from "../support/external-programs.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const folder = makeTempDir();
const COLOUR: PhoneDisplay = { width: 559, height: 265, colours: "colour" };

describe("a phone's display", () => {
  it.each([
    ["CP-8845", "559, 265, 24, C", "559x265-colour"],
    ["CP-8811", "", "559x265-grey"],
    ["CP-8831", "396,162,24,C", null],
    ["DP-9841", "", "240x60-grey"],
    ["DP-9871", "", "960x360-colour"],
    ["CP-8832", "470,110,16,C", "470x110-colour"],
    ["CP-8811", "559,265,1,G", "559x265-black"],
    ["CP-8865", "9999,9999,24,C", "559x265-colour"],
    ["CP-8865", "0,0,24,C", "559x265-colour"],
    ["CP-7841", "396,162,1,G", null],
  ])("%s with %j is %s", (model, header, name) => {
    const display = displayOfPhone(phoneModelByName(model), header);
    expect(display && displayName(display)).toBe(name);
    if (display) expect(parseDisplayName(displayName(display))).toEqual(display);
  });

  it("shows a picture in its proportions, upright and never enlarged", () => {
    const file = { kind: "jpeg", width: 4_000, height: 3_000, orientation: 1 } as const;
    expect(fittedSize(file, COLOUR)).toEqual({ width: 353, height: 265 });
    expect(fittedSize({ ...file, orientation: 6 }, COLOUR)).toEqual({ width: 199, height: 265 });
    expect(fittedSize({ ...file, width: 100, height: 50 }, COLOUR)).toEqual({ width: 100, height: 50 });
    expect(fittedSize({ ...file, width: 9_000, height: 1 }, COLOUR)).toEqual({ width: 559, height: 1 });
  });
});

interface Told {
  lacks: (string | null)[];
  faults: string[];
}

function open(program?: string): { pictures: PictureStore; told: Told } {
  const told: Told = { lacks: [], faults: [] };
  const onAvailability = (words: string | null): void => void told.lacks.push(words);
  const onError = (words: string): void => void told.faults.push(words);
  return {
    pictures: createPictureStore({ clock: systemClock, onAvailability, onError, ...(program ? { program } : {}) }),
    told,
  };
}

/** A picture by ffmpeg's own sources. */
function draw(name: string, source: string): string {
  const path = join(folder, name);
  execFileSync("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", source, "-frames:v", "1", path]);
  return path;
}

const sizeOf = (png: Uint8Array | null): number[] => {
  const bytes = Buffer.from(png ?? []);
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
};
/** Bits of a colour and type of colours: 0 grey, 2 red, green and blue. @source PNG (ISO 15948) 11.2.2 */
const coloursOf = (png: Uint8Array | null): number[] => [...(png ?? new Uint8Array()).subarray(24, 26)];

const ffmpeg = externalProgram("ffmpeg");

ffmpeg.describe("pictures of any size", () => {
  it("fit each display, are made once, and stand upright on white", async () => {
    const { pictures, told } = open();
    // Black at the left and clear at the right, to be turned by a quarter: black comes to the top.
    const drawn = draw("plan.jpg", "color=white:size=1200x800,drawbox=w=600:h=800:color=black:t=fill");
    const photo = join(folder, "photo.jpg");
    writeFileSync(photo, turned(drawn, 6));
    const png = await pictures.fitted(photo, COLOUR);
    expect(sizeOf(png)).toEqual([177, 265]);
    expect(coloursOf(png)).toEqual([8, 2]);
    const raw = execFileSync("ffmpeg", ["-v", "error", "-i", "-", "-f", "rawvideo", "-pix_fmt", "gray", "-"], {
      input: Buffer.from(png ?? []),
    });
    expect([raw[177 * 20 + 5], raw[177 * 20 + 170], raw[177 * 240 + 5]]).toEqual([0, 0, 255]);
    expect(await pictures.fitted(photo, { ...COLOUR })).toBe(png);
    const clear = draw("clear.png", "color=black@0:size=80x40,format=rgba");
    const grey = await pictures.fitted(clear, { width: 240, height: 60, colours: "grey" });
    expect([sizeOf(grey), coloursOf(grey)]).toEqual([
      [80, 40],
      [8, 0],
    ]);
    expect(told).toEqual({ lacks: [], faults: [] });
  });

  it("that can't be read are told of, and the text is shown", async () => {
    const { pictures, told } = open();
    const broken = join(folder, "broken.png");
    writeFileSync(broken, pngHead(300, 200));
    const huge = join(folder, "huge.png");
    writeFileSync(huge, pngHead(60_000, 60_000));
    for (const path of [broken, huge, join(folder, "none")]) expect(await pictures.fitted(path, COLOUR)).toBe(null);
    expect(told.faults).toEqual([
      "the picture begins like png but can't be read as such in time",
      "the picture is no PNG, JPEG or GIF, or has too many pixels",
      "the picture's file is gone",
    ]);
  });
});

it("without a program, pictures that fit are shown as they are, and others as text, which is told once", async () => {
  const { pictures, told } = open("no-such-program");
  const path = join(folder, "small.png");
  writeFileSync(path, pngHead(300, 200));
  const pages = createPageStore(() => "http://10.1.2.3:8081/phone/auth", Buffer.from("key"), pictures);
  const url = pages.add({
    text: { subject: "Fire", body: "Leave", short: "Fire" },
    drill: false,
    imagePath: path,
    profile: DEFAULT_PROFILE,
  });
  const get = async (path: string, model: string): Promise<{ status: number; body: string }> => {
    const headers = { "x-ciscoipphonemodelname": model };
    const asked = { method: "GET", url: path, headers, body: new Uint8Array(), remoteAddress: "10.1.2.9" };
    const answer = await pages.respond(asked);
    return { status: answer?.status ?? 0, body: String(answer?.body ?? "") };
  };
  const { pathname } = new URL(url);
  const shown = await get(pathname, "CP-8845");
  expect(shown.body).toContain(`<URL>${url}/559x265-colour.png</URL>`);
  expect(await get(`${pathname}/559x265-colour.png`, "CP-8845")).toMatchObject({ status: 200 });
  expect((await get(pathname, "DP-9841")).body).toContain("<Text>Leave</Text>");
  for (const name of ["9999x1-colour", "559x265", "0x0-grey"])
    expect(await get(`${pathname}/${name}.png`, "CP-8845")).toMatchObject({ status: 404 });
  expect(told.lacks).toEqual([expect.stringContaining("ffmpeg is not installed")]);
});

/** The beginning of a PNG, without its pixels. */
function pngHead(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(40);
  bytes.write("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", 0, "latin1");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  bytes.set([8, 2], 24);
  return bytes;
}

/** A JPEG that says how it is to be turned. @source Exif 2.32, 4.5.2, 4.6.2 */
function turned(path: string, orientation: number): Buffer {
  const bytes = readFileSync(path);
  const tiff = Buffer.from("4d4d002a00000008" + "0001" + "0112000300000001", "hex");
  const value = Buffer.from([0, orientation, 0, 0, 0, 0, 0, 0]);
  const exif = Buffer.concat([Buffer.from("Exif\0\0", "latin1"), tiff, value]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(exif.length + 2);
  return Buffer.concat([bytes.subarray(0, 2), Buffer.from([0xff, 0xe1]), length, exif, bytes.subarray(2)]);
}
