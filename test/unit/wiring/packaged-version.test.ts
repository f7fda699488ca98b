import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  installPackagedVersion,
  placeVersion,
  type ServiceControl,
  undoUpgrade,
} from "../../../src/wiring/install-upgrade.ts";
import { createFastClock } from "../../support/fast-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

/** Replaces the files of a package as dpkg does, by new ones. */
function install(folder: string, number: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "dist"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ version: number }));
  writeFileSync(join(folder, "dist/main.js"), `run(${JSON.stringify(number)})`);
  return folder;
}

/** A machine with a package and a service that runs what `current` leads to; `ill` versions do not respond. */
function machine({ ill = "", migrates = false } = {}) {
  const [root, folder] = [makeTempDir(), join(makeTempDir(), "package")];
  const steps: string[] = [];
  let runs = true;
  const current = (): string => JSON.parse(readFileSync(join(root, "current/package.json"), "utf8")).version;
  const service: ServiceControl = {
    requireSupervised: async () => {},
    restart: async () => void steps.push(`restart ${current()}`),
    stop: async () => {
      steps.push("stop");
      runs = false;
    },
    start: async () => {
      steps.push(`start ${current()}`);
      runs = true;
    },
    state: async () =>
      runs && current() !== ill
        ? { version: current(), url: "http://127.0.0.1:8080", status: "GREEN", reasons: [] }
        : null,
    needsNewerVersion: async (version) => {
      steps.push(`can ${version} use the data?`);
      return migrates;
    },
    backup: async () => {
      steps.push("backup");
      return `backup-of-${current()}`;
    },
    restore: async (file) => void steps.push(`restore ${file}`),
  };
  const options = { root, keys: [], service, clock: createFastClock(), say: () => undefined };
  return {
    ...{ root, folder, steps, current },
    place: (number: string) => placeVersion(install(folder, number), root),
    upgrade: (number: string) => installPackagedVersion(install(folder, number), options),
    undo: () => undoUpgrade(options),
  };
}

describe("a version that a package installed", () => {
  it("becomes current, as links to the files of the package", () => {
    const { root, folder, place, current } = machine();
    expect(place("0.1.0")).toBe("0.1.0");
    expect(readlinkSync(join(root, "current"))).toBe("versions/0.1.0");
    expect(current()).toBe("0.1.0");
    expect(statSync(join(root, "versions/0.1.0/dist/main.js")).ino).toBe(statSync(join(folder, "dist/main.js")).ino);
    expect(statSync(join(root, "versions/0.1.0")).mode & 0o777).toBe(0o755);
    expect(readdirSync(join(root, "versions"))).toEqual(["0.1.0"]);
  });

  it("stays whole while the package manager replaces the files of the package", () => {
    const { root, folder, place } = machine();
    place("0.1.0");
    install(folder, "0.2.0");
    expect(readFileSync(join(root, "versions/0.1.0/dist/main.js"), "utf8")).toBe('run("0.1.0")');
    rmSync(folder, { recursive: true });
    expect(existsSync(join(root, "versions/0.1.0/package.json"))).toBe(true);
  });

  it("replaces an unpacked one of the same number", () => {
    const { root, folder, place } = machine();
    place("0.1.0");
    writeFileSync(join(install(folder, "0.1.0"), "dist/extra.js"), "");
    placeVersion(folder, root);
    expect(readdirSync(join(root, "versions/0.1.0/dist"))).toEqual(["extra.js", "main.js"]);
    expect(readdirSync(join(root, "versions"))).toEqual(["0.1.0"]);
  });

  it.each(["", "{}", '{"version": 1}', '{"version": "../../etc"}', '{"version": "1.0"}'])(
    "is refused with package.json %j",
    (text) => {
      const { root, folder } = machine();
      mkdirSync(folder);
      writeFileSync(join(folder, "package.json"), text);
      expect(() => placeVersion(folder, root)).toThrow("Must be the folder of an installed version");
      expect(readdirSync(root)).toEqual([]);
    },
  );

  it("replaces the running one after a backup", async () => {
    const { place, upgrade, current, steps, root } = machine();
    place("0.1.0");
    expect(await upgrade("0.2.0")).toEqual({ from: "0.1.0", to: "0.2.0", rolledBack: false });
    expect(steps).toEqual(["backup", "restart 0.2.0"]);
    expect(current()).toBe("0.2.0");
    expect(readdirSync(join(root, "versions")).sort()).toEqual(["0.1.0", "0.2.0"]);
  });

  it("makes way for the old one when it is not healthy", async () => {
    const { place, upgrade, current, steps } = machine({ ill: "0.2.0" });
    place("0.1.0");
    expect(await upgrade("0.2.0")).toEqual({ from: "0.1.0", to: "0.2.0", rolledBack: true });
    expect(current()).toBe("0.1.0");
    expect(steps).toEqual(["backup", "restart 0.2.0", "stop", "can 0.1.0 use the data?", "start 0.1.0"]);
  });

  it("is refused when it is not newer than the running one", async () => {
    const { place, upgrade, current, steps } = machine();
    place("0.2.0");
    await expect(upgrade("0.1.0")).rejects.toThrow("0.1.0 is not newer than the running version 0.2.0");
    expect([current(), steps]).toEqual(["0.2.0", []]);
  });

  it("stays when its package is installed again", async () => {
    const { place, upgrade, steps } = machine();
    place("0.2.0");
    expect(await upgrade("0.2.0")).toEqual({ from: "0.2.0", to: "0.2.0", rolledBack: false });
    expect(steps).toEqual([]);
  });
});

describe("undoing an upgrade", () => {
  it("returns to the version before, on the present data", async () => {
    const { root, place, upgrade, undo, current, steps } = machine();
    place("0.1.0");
    await upgrade("0.2.0");
    steps.length = 0;
    expect(await undo()).toEqual({ from: "0.2.0", to: "0.1.0", rolledBack: false });
    expect(steps).toEqual(["backup", "stop", "can 0.1.0 use the data?", "start 0.1.0"]);
    expect([current(), basename(readlinkSync(join(root, "current")))]).toEqual(["0.1.0", "0.1.0"]);
  });

  it("changes nothing when the older version can't use the data", async () => {
    const { place, upgrade, undo, current, steps } = machine({ migrates: true });
    place("0.1.0");
    await upgrade("0.2.0");
    steps.length = 0;
    await expect(undo()).rejects.toThrow("nothing was changed");
    expect(steps).toEqual(["backup", "stop", "can 0.1.0 use the data?", "start 0.2.0"]);
    expect(current()).toBe("0.2.0");
  });

  it("is refused without an upgrade, after a refused one, and twice", async () => {
    const { place, upgrade, undo, current } = machine({ ill: "0.3.0" });
    place("0.1.0");
    await expect(undo()).rejects.toThrow("There is no upgrade to undo");
    await upgrade("0.2.0");
    await upgrade("0.3.0");
    await expect(undo()).rejects.toThrow("There is no upgrade to undo");
    expect(current()).toBe("0.2.0");
    const other = machine();
    other.place("0.1.0");
    await other.upgrade("0.2.0");
    await other.undo();
    await expect(other.undo()).rejects.toThrow("There is no upgrade to undo");
  });
});
