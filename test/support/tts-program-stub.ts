import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodeWav } from "../../src/media/wav.ts";
import { makeTempDir } from "./temp-dir.ts";

/** Half a second of a sound, with a head as of a pipe: it says that it is endless. */
function endlessWav(): Buffer {
  const wav = Buffer.from(encodeWav(new Int16Array(4_000).map((_, at) => Math.round(6_000 * Math.sin(at / 3)))));
  wav.writeUInt32LE(0x7ffff024, 4);
  wav.writeUInt32LE(0x7ffff000, 40);
  return wav;
}

/** Makes a stand-in for the speech program, which notes in `said` what it was told; `ends` is how it ends. */
export function createTtsProgramStub(ends: "well" | "badly" | "never" = "well"): { program: string; said: string } {
  const folder = makeTempDir();
  const [program, said, wav] = [join(folder, "speaker"), join(folder, "said"), join(folder, "sound.wav")];
  writeFileSync(wav, endlessWav());
  const voices =
    "Pty Language       Age/Gender VoiceName          File\n 2  en-gb  --/M  English_(Great_Britain)  gmw/en\n 5  de  --/F  German  gmw/de\n";
  writeFileSync(join(folder, "voices"), voices);
  const last = { well: `cat ${wav}`, badly: "exit 3", never: "exec sleep 60" }[ends];
  writeFileSync(
    program,
    `#!/bin/sh\n[ "$1" = --voices ] && exec cat ${folder}/voices\necho "$@" >> ${said}\ncat >> ${said}\necho >> ${said}\n${last}\n`,
  );
  chmodSync(program, 0o755);
  return { program, said };
}
