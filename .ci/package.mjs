/**
 * Makes the release artefacts: `npm run package -- [--to DIR] [--arch x64|arm64] [--only deb,tar,oci,upgrade] [--key FILE]
 * [--version-number X.Y.Z] [--level 0-9]`. DIR (dist-packages) gets a Debian package, a plain archive, an OCI image, a bill of
 * materials and SHA256SUMS; with the private key of `carillon upgrade-key` also the signed upgrade file and the signature SHA256SUMS.sig.
 * Two builds of one commit are equal: times are those of the commit, or of SOURCE_DATE_EPOCH. Needs dpkg-deb, tar and xz; the
 * image also mmdebstrap and a Debian mirror. Exit codes: 0 made, 1 something failed.
 */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { argv, env, execPath, exit } from "node:process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { run, sha256Of, writeTar } from "./package/archive.mjs";
import { buildDeb, debianArchitecture, debianVersion } from "./package/deb.mjs";
import { buildImage } from "./package/oci.mjs";
import { billOfMaterials } from "./package/sbom.mjs";
import { buildTree, settle } from "./package/tree.mjs";
import { present } from "./setup/debian.mjs";
import { root, say } from "./setup/tree.mjs";
import { setUp } from "./setup.mjs";

const KINDS = ["deb", "tar", "oci", "upgrade"];

/** Programs that a kind needs, with the Debian package of each. @type {Record<string, Record<string, string>>} */
const PROGRAMS = {
  deb: { "dpkg-deb": "dpkg", xz: "xz-utils" },
  tar: { xz: "xz-utils" },
  oci: { mmdebstrap: "mmdebstrap", xz: "xz-utils" },
  upgrade: {},
};

/**
 * @typedef {object} PackageOptions
 * @property {string} to output folder
 * @property {"x64" | "arm64"} arch
 * @property {string[]} kinds
 * @property {string | null} key file of the private key (PEM, Ed25519)
 * @property {string} version
 * @property {number} epoch time of everything, seconds
 * @property {string} level how hard xz tries, 0 to 9
 */

/**
 * Makes the artefacts and returns their paths; prints what it does and how long each step took.
 * @param {PackageOptions} options
 * @returns {string[]}
 */
export function makePackages({ to, arch, kinds, key, version, epoch, level }) {
  const release = { version, arch, epoch, level };
  const name = `carillon-${version}`;
  const work = join(to, ".work");
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const tree = join(work, name);
  /** @type {string[]} */
  const made = [];
  /** @param {string} what @param {string} file @param {() => void} build */
  const step = (what, file, build) => {
    const began = performance.now();
    say(`package: ${what} …`);
    const target = join(to, file);
    rmSync(target, { recursive: true, force: true });
    build();
    const size = `${(statSync(target).size / 1_000_000).toFixed(1)} MB`;
    say(`package: ${file}: ${size} after ${Math.round((performance.now() - began) / 1_000)} s`);
    made.push(target);
  };
  try {
    const sbom = `${name}-linux-${arch}.cdx.json`;
    say("package: collecting the files, with the runtime …");
    buildTree(tree, release);
    step("bill of materials", sbom, () => writeFileSync(join(to, sbom), billOfMaterials(release)));
    cpSync(join(to, sbom), join(tree, "sbom.cdx.json"));
    const settings = settingsFile(key);
    writeFileSync(join(tree, "settings.yaml"), settings);
    cpSync(join(root, ".ci/package/INSTALL.md"), join(tree, "INSTALL.md"));
    settle(tree, epoch);
    const deb = `carillon_${debianVersion(version)}_${debianArchitecture(arch)}.deb`;
    if (kinds.includes("deb")) step("Debian package", deb, () => buildDeb(tree, join(to, deb), release, settings));
    const tar = `${name}-linux-${arch}.tar.xz`;
    if (kinds.includes("tar")) step("plain archive", tar, () => writeTar(work, [name], join(to, tar), release));
    const oci = `${name}-oci-${debianArchitecture(arch)}.tar.xz`;
    if (kinds.includes("oci")) step("OCI image", oci, () => buildImage(tree, join(to, oci), release, settings));
    const upgrade = `${name}-linux-${arch}.upgrade.tgz`;
    if (kinds.includes("upgrade") && key !== null)
      step("signed upgrade", upgrade, () => {
        run(execPath, [join(root, "dist/src/main.js"), "upgrade-pack", tree, "--key", key, "--to", join(to, upgrade)]);
      });
    step("checksums", "SHA256SUMS", () => writeFileSync(join(to, "SHA256SUMS"), checksums(made)));
    if (key === null) say("package: not signed; --key FILE signs, with the key of carillon upgrade-key");
    else
      step("signature", "SHA256SUMS.sig", () =>
        writeFileSync(join(to, "SHA256SUMS.sig"), sign(null, readFileSync(join(to, "SHA256SUMS")), readFileSync(key))),
      );
    return made;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** As sha256sum writes and reads them. @param {string[]} files */
function checksums(files) {
  return [...files]
    .sort()
    .map((file) => `${sha256Of(file)}  ${basename(file)}\n`)
    .join("");
}

/** The first settings of an installation; they trust the key that signs upgrades. @param {string | null} key */
function settingsFile(key) {
  const settings = readFileSync(join(root, ".ci/package/settings.yaml"), "utf8");
  if (key === null) return settings;
  const { x = "" } = createPublicKey(createPrivateKey(readFileSync(key))).export({ format: "jwk" });
  const trusted = Buffer.from(x, "base64url").toString("base64");
  return `${settings}\n# Who may sign upgrades: the publisher of this package.\ntrust:\n  upgrades:\n    - ${trusted}\n`;
}

/** Time of the release: SOURCE_DATE_EPOCH, else that of the last commit. @source https://reproducible-builds.org/specs/source-date-epoch/ */
function releaseEpoch() {
  const given = env.SOURCE_DATE_EPOCH;
  if (given !== undefined && /^\d+$/.test(given)) return Number(given);
  return Number(run("git", ["-C", root, "log", "-1", "--format=%ct"]).trim());
}

/** What is missing for `kinds`, as a remedy; null when nothing is. @param {string[]} kinds */
function missingPrograms(kinds) {
  const needed = kinds.flatMap((kind) => Object.entries(PROGRAMS[kind] ?? {}));
  const missing = new Set(needed.filter(([command]) => !present(command)).map(([, name]) => name));
  return missing.size === 0 ? null : `apt-get install -y --no-install-recommends ${[...missing].join(" ")}`;
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  const { values } = parseArgs({
    options: {
      to: { type: "string", default: join(root, "dist-packages") },
      arch: { type: "string", default: process.arch },
      only: { type: "string", default: KINDS.join(",") },
      key: { type: "string" },
      "version-number": { type: "string" },
      level: { type: "string", default: "6" },
    },
  });
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const [kinds, arch] = [values.only.split(","), values.arch];
  const fault =
    arch !== "x64" && arch !== "arm64"
      ? "--arch must be x64 or arm64"
      : kinds.some((kind) => !KINDS.includes(kind))
        ? `--only must be of ${KINDS.join(", ")}`
        : missingPrograms(kinds);
  if (fault !== null) {
    say(`package: ${fault}`);
    exit(1);
  }
  if (setUp() !== null) exit(1);
  const to = resolve(values.to);
  mkdirSync(dirname(to), { recursive: true });
  try {
    const key = values.key === undefined ? null : resolve(values.key);
    const number = values["version-number"] ?? version;
    const options = { to, kinds, key, version: number, epoch: releaseEpoch(), level: values.level };
    makePackages({ ...options, arch: arch === "arm64" ? "arm64" : "x64" });
  } catch (error) {
    say(`package: ${error instanceof Error ? error.message : String(error)}`);
    exit(1);
  }
}
