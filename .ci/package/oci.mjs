import { createHash } from "node:crypto";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { run, sha256Of, writeTar } from "./archive.mjs";
import { debianArchitecture } from "./deb.mjs";
import { settle, write } from "./tree.mjs";

/** What the image has of Debian stable: a C library, a shell and its tools, time zones, speech. */
const BASE_PACKAGES = ["base-files", "netbase", "libc6", "libstdc++6", "dash", "coreutils", "tzdata", "espeak-ng"];
const MIRROR = "http://deb.debian.org/debian";

/** User and group of the process. */
const USER_ID = 64_230;

const MEDIA = {
  layer: "application/vnd.oci.image.layer.v1.tar",
  config: "application/vnd.oci.image.config.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
};

/**
 * Writes the image `target` (.tar.xz): an OCI image layout with two plain layers, Debian's files and the product, and the
 * manifest of `docker save` for programs that know that alone. Layers are not compressed, since the whole is.
 * `settings` is the settings file that the image starts with.
 * @param {string} tree
 * @param {string} target
 * @param {import("./tree.mjs").Release} release
 * @param {string} settings
 * @source https://github.com/opencontainers/image-spec/blob/main/image-layout.md
 */
export function buildImage(tree, target, release, settings) {
  const work = `${target}.work`;
  rmSync(work, { recursive: true, force: true });
  const blobs = join(work, "image/blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const layers = [baseLayer(work, release), productLayer(work, tree, release, settings)];
  const descriptors = layers.map((file) => addBlob(blobs, file, MEDIA.layer));
  const created = new Date(release.epoch * 1_000).toISOString();
  const config = addJson(
    blobs,
    imageConfig(
      release,
      created,
      descriptors.map(({ digest }) => digest),
    ),
    MEDIA.config,
  );
  const manifest = addJson(
    blobs,
    { schemaVersion: 2, mediaType: MEDIA.manifest, config, layers: descriptors },
    MEDIA.manifest,
  );
  const platform = { os: "linux", architecture: debianArchitecture(release.arch) };
  const name = `carillon:${release.version}`;
  const annotations = { "org.opencontainers.image.ref.name": release.version, "io.containerd.image.name": name };
  const index = { schemaVersion: 2, mediaType: MEDIA.index, manifests: [{ ...manifest, platform, annotations }] };
  const image = join(work, "image");
  write(join(image, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  write(join(image, "index.json"), JSON.stringify(index));
  const path = (/** @type {{digest: string}} */ { digest }) => `blobs/sha256/${digest.slice("sha256:".length)}`;
  const saved = [{ Config: path(config), RepoTags: [name], Layers: descriptors.map(path) }];
  write(join(image, "manifest.json"), JSON.stringify(saved));
  settle(image, release.epoch);
  writeTar(image, ["blobs", "index.json", "manifest.json", "oci-layout"], target, release);
  rmSync(work, { recursive: true });
}

/**
 * The configuration of the image.
 * @param {import("./tree.mjs").Release} release
 * @param {string} created
 * @param {string[]} diffIds digests of the plain layers
 * @source https://github.com/opencontainers/image-spec/blob/main/config.md
 */
export function imageConfig({ version, arch }, created, diffIds) {
  const program = ["/opt/carillon/node/bin/node", "--enable-source-maps", "/opt/carillon/dist/src/main.js"];
  return {
    created,
    architecture: debianArchitecture(arch),
    os: "linux",
    config: {
      User: `${USER_ID}:${USER_ID}`,
      Env: ["PATH=/usr/bin:/bin:/opt/carillon/bin", "LANG=C.UTF-8", "HOME=/var/lib/carillon"],
      Entrypoint: program,
      Cmd: ["serve", "--data", "/var/lib/carillon", "--config", "/etc/carillon/carillon.yaml"],
      WorkingDir: "/var/lib/carillon",
      Volumes: { "/var/lib/carillon": {} },
      ExposedPorts: { "8080/tcp": {}, "8443/tcp": {} },
      StopSignal: "SIGTERM",
      Labels: {
        "org.opencontainers.image.title": "Carillon",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
      },
    },
    rootfs: { type: "layers", diff_ids: diffIds },
    history: [
      { created, created_by: "Debian stable: packages without their scripts" },
      { created, created_by: `Carillon ${version}` },
    ],
  };
}

/** Debian's part, made by mmdebstrap, which obeys SOURCE_DATE_EPOCH. @param {string} work @param {import("./tree.mjs").Release} release */
function baseLayer(work, { arch, epoch }) {
  const target = join(work, "base.tar");
  const options = ["--quiet", "--variant=extract", `--architectures=${debianArchitecture(arch)}`];
  const left = ["man", "locale", "info", "bug", "lintian"].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
  const include = `--include=${BASE_PACKAGES.join(",")}`;
  const apart = ["--aptopt=APT::Install-Recommends false", ...left];
  run("mmdebstrap", [...options, ...apart, include, "stable", target, MIRROR], {
    env: { SOURCE_DATE_EPOCH: String(epoch) },
  });
  return target;
}

/**
 * @param {string} work
 * @param {string} tree
 * @param {import("./tree.mjs").Release} release
 * @param {string} settings
 */
function productLayer(work, tree, release, settings) {
  const { epoch } = release;
  const layer = join(work, "product");
  mkdirSync(join(layer, "opt"), { recursive: true });
  run("cp", ["-a", tree, join(layer, "opt/carillon")]);
  write(join(layer, "etc/carillon/carillon.yaml"), settings);
  write(
    join(layer, "etc/passwd"),
    `root:x:0:0:root:/root:/bin/sh\ncarillon:x:${USER_ID}:${USER_ID}::/var/lib/carillon:/bin/sh\n`,
  );
  write(join(layer, "etc/group"), `root:x:0:\ncarillon:x:${USER_ID}:\n`);
  mkdirSync(join(layer, "var/lib/carillon"), { recursive: true });
  settle(layer, epoch);
  const target = join(work, "product.tar");
  writeTar(layer, ["etc", "opt"], target, release);
  // The data directory belongs to the process: a new volume takes its owner from here.
  const owner = [`--owner=${USER_ID}`, `--group=${USER_ID}`, "--numeric-owner", "--mode=0700"];
  run("tar", ["--format=gnu", `--mtime=@${epoch}`, ...owner, "-C", layer, "-rf", target, "var/lib/carillon"]);
  rmSync(layer, { recursive: true });
  return target;
}

/** @param {string} blobs @param {string} file @param {string} mediaType */
function addBlob(blobs, file, mediaType) {
  const digest = sha256Of(file);
  const { size } = statSync(file);
  run("cp", ["--reflink=auto", file, join(blobs, digest)]);
  return { mediaType, digest: `sha256:${digest}`, size };
}

/** @param {string} blobs @param {object} value @param {string} mediaType */
function addJson(blobs, value, mediaType) {
  const text = JSON.stringify(value);
  const digest = createHash("sha256").update(text).digest("hex");
  write(join(blobs, digest), text);
  return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
}
