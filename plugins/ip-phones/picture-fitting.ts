import { spawn } from "node:child_process";
import type { Clock } from "#plugin-api";
import type { PhoneDisplay } from "./phone-display.ts";
import { MAX_PIXELS, type PictureFile } from "./picture-file.ts";

/** Size in pixels. */
export interface PixelSize {
  width: number;
  height: number;
}

/** A fitted PNG, or an error. `no-program`: ffmpeg is not installed. */
export type FittedPicture = { png: Buffer; error?: never } | { error: "no-program" | "unreadable"; png?: never };

/** 12 million pixels take half a second; a phone's request times out after 10 s. */
const FITTING_TIMEOUT_MS = 5_000;
/** The demuxer is explicit, so that no file is decoded as another type. */
const INPUT_FORMATS = { png: "png_pipe", jpeg: "jpeg_pipe", gif: "gif" } as const;
const FORMATS = { colour: "rgb24", grey: "gray", black: "monob" } as const;
/** Filters that turn a picture upright. @source Exif 2.32, tag 0x0112 */
const ORIENTATION_FILTERS = [
  "",
  "",
  "hflip",
  "hflip,vflip",
  "vflip",
  "transpose=0",
  "transpose=1",
  "transpose=3",
  "transpose=2",
];
/** From this orientation on, width and height are swapped. */
const FIRST_ROTATED_ORIENTATION = 5;

/** Size of the upright picture on the display: proportional, never enlarged. */
export function fittedSize({ width, height, orientation }: PictureFile, display: PixelSize): PixelSize {
  const upright = orientation >= FIRST_ROTATED_ORIENTATION ? { width: height, height: width } : { width, height };
  const factor = Math.min(1, display.width / upright.width, display.height / upright.height);
  const scaled = (side: number): number => Math.max(1, Math.round(side * factor));
  return { width: scaled(upright.width), height: scaled(upright.height) };
}

/**
 * Fits the picture at `path` to a display with `ffmpeg`, in a process that may read only that file: upright, on white,
 * in the display's colours. Never rejects.
 */
export function fitPicture(
  path: string,
  file: PictureFile,
  display: PhoneDisplay,
  { clock, program = "ffmpeg" }: { clock: Clock; program?: string },
): Promise<FittedPicture> {
  return new Promise((resolve) => {
    const child = spawn(program, ffmpegArguments(path, file, display), { stdio: ["ignore", "pipe", "ignore"] });
    const timer = clock.after(FITTING_TIMEOUT_MS, () => child.kill("SIGKILL"), { background: true });
    const parts: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => parts.push(part));
    child.on("error", () => {
      timer.cancel();
      resolve({ error: "no-program" });
    });
    child.on("close", (code) => {
      timer.cancel();
      resolve(code === 0 && parts.length > 0 ? { png: Buffer.concat(parts) } : { error: "unreadable" });
    });
  });
}

function ffmpegArguments(path: string, file: PictureFile, display: PhoneDisplay): string[] {
  const { width, height } = fittedSize(file, display);
  const stored = file.orientation >= FIRST_ROTATED_ORIENTATION ? `${height}:${width}` : `${width}:${height}`;
  const turned = [`scale=${stored}:flags=area+accurate_rnd`, "format=rgba", ORIENTATION_FILTERS[file.orientation]];
  const steps = [
    `color=white:size=${width}x${height}:rate=1[white]`,
    `[0:v:0]${turned.filter(Boolean).join(",")}[picture]`,
    `[white][picture]overlay=shortest=1:format=rgb,format=${FORMATS[display.colours]}`,
  ];
  const input = ["-protocol_whitelist", "file", "-max_pixels", String(MAX_PIXELS), "-f", INPUT_FORMATS[file.kind]];
  const threads = ["-threads", "1", "-filter_complex_threads", "1"];
  const output = ["-map_metadata", "-1", "-frames:v", "1", "-c:v", "png", "-f", "image2pipe", "pipe:1"];
  const from = ["-noautorotate", "-i", `file:${path}`];
  return ["-nostdin", "-v", "error", ...threads, ...input, ...from, "-filter_complex", steps.join(";"), ...output];
}
