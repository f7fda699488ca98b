import { chmodSync, cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "../setup/tree.mjs";
import { run } from "./archive.mjs";
import { settle, write } from "./tree.mjs";

/** Where the package has the product; versions that run are made of it below /opt/carillon-versions. */
const PRODUCT_FOLDER = "usr/lib/carillon";

/** @type {Record<string, string>} */
const ARCHITECTURES = { x64: "amd64", arm64: "arm64" };

/**
 * The version as Debian orders it: what follows a hyphen comes before the version without it.
 * @param {string} version
 * @source https://www.debian.org/doc/debian-policy/ch-controlfields.html#version
 */
export function debianVersion(version) {
  return version.replaceAll("-", "~");
}

/**
 * Architecture in the words of Debian and of image registries.
 * @param {string} arch
 */
export function debianArchitecture(arch) {
  return ARCHITECTURES[arch] ?? arch;
}

/**
 * The control file. `kibibytes`: size of the installed files.
 * @param {{version: string, arch: string}} release
 * @param {number} kibibytes
 */
export function controlFile({ version, arch }, kibibytes) {
  return `Package: carillon
Version: ${debianVersion(version)}
Architecture: ${debianArchitecture(arch)}
Maintainer: The Carillon project <carillon@localhost>
Installed-Size: ${kibibytes}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6, passwd, systemd (>= 247), init-system-helpers
Recommends: espeak-ng, ffmpeg, nftables, tzdata
Section: net
Priority: optional
Description: mass-notification appliance: bells, pages, phones and text
 Carillon rings bells and sends messages to phones, speakers, screens and people,
 and reports the result per device. The package has its own Node runtime.
`;
}

/**
 * Builds the Debian package of the product in `tree` with dpkg-deb, which obeys SOURCE_DATE_EPOCH.
 * @param {string} tree
 * @param {string} target
 * @param {import("./tree.mjs").Release} release
 * @param {string} settings the first settings file
 */
export function buildDeb(tree, target, release, settings) {
  const work = `${target}.work`;
  rmSync(work, { recursive: true, force: true });
  const product = join(work, PRODUCT_FOLDER);
  mkdirSync(product, { recursive: true });
  cpSync(tree, product, { recursive: true });
  for (const name of readdirSync(join(tree, "systemd"))) {
    const folder = name.endsWith(".nft") ? "etc/carillon" : "usr/lib/systemd/system";
    write(join(work, folder, name), readFileSync(join(tree, "systemd", name), "utf8"));
  }
  write(join(work, "usr/share/carillon/carillon.yaml"), settings);
  write(join(work, "usr/share/doc/carillon/copyright"), readFileSync(join(tree, "LICENSE"), "utf8"));
  mkdirSync(join(work, "usr/bin"), { recursive: true });
  symlinkSync("/opt/carillon/bin/carillon", join(work, "usr/bin/carillon"));
  const bytes = filesBelow(work).reduce((sum, file) => sum + lstatSync(file).size, 0);
  write(join(work, "DEBIAN/control"), controlFile(release, Math.ceil(bytes / 1_024)));
  write(join(work, "DEBIAN/conffiles"), "/etc/carillon/carillon-marking.nft\n");
  const scripts = join(import.meta.dirname, "debian");
  for (const name of readdirSync(scripts)) {
    write(join(work, "DEBIAN", name), readFileSync(join(scripts, name), "utf8"), 0o755);
  }
  settle(work, release.epoch);
  for (const name of readdirSync(scripts)) chmodSync(join(work, "DEBIAN", name), 0o755);
  const env = { SOURCE_DATE_EPOCH: String(release.epoch) };
  run("dpkg-deb", ["--root-owner-group", "--threads-max=2", "-Zxz", `-z${release.level}`, "--build", work, target], {
    env,
  });
  rmSync(work, { recursive: true });
}
