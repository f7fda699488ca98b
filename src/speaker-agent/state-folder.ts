import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Registration data from the appliance. */
export interface AgentRegistration {
  server: string;
  mac: string;
  token: string;
  /** Public key of signed ring plans: base64 of 32 bytes. Null if the appliance gave none. */
  planKey: string | null;
}

/** The agent's state folder, readable only by its user. */
export interface StateFolder {
  readRegistration(): Promise<AgentRegistration | null>;
  writeRegistration(membership: AgentRegistration): Promise<void>;
  /** Content of a file; null if missing. */
  read(name: string): Promise<Buffer | null>;
  /** Writes a file atomically and durably. Writes of one name must not overlap. */
  write(name: string, content: string | Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** File names. */
  list(): Promise<string[]>;
}

/** Opens the folder, creating it if missing. */
export async function openStateFolder(path: string): Promise<StateFolder> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
  const read = (name: string): Promise<Buffer | null> => readFile(join(path, name)).catch(() => null);
  const write = async (name: string, content: string | Uint8Array): Promise<void> => {
    await writeFile(join(path, `${name}.new`), content, { mode: 0o600, flush: true });
    await rename(join(path, `${name}.new`), join(path, name));
  };
  return {
    read,
    write,
    remove: (name) => rm(join(path, name), { force: true }),
    list: () => readdir(path),
    async readRegistration() {
      const text = await read("membership.json");
      return text && (JSON.parse(text.toString("utf8")) as AgentRegistration);
    },
    writeRegistration: (membership) => write("membership.json", JSON.stringify(membership)),
  };
}
