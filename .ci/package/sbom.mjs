import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { distributedPackages } from "../../test/rules/licences.ts";
import { readSourceTree } from "../../test/rules/source-tree.ts";
import { npmCommand } from "../setup/npm.mjs";
import { root } from "../setup/tree.mjs";
import { run } from "./archive.mjs";

/** @typedef {{"bom-ref": string, type: string, name: string, version: string, purl: string, scope?: string, properties?: {name: string, value: string}[]}} Component */

/**
 * The bill of materials of a release (CycloneDX, JSON): the packages that come with the product, as `npm sbom` describes
 * them, and the Node runtime. Packages for other platforms and tools are left out. Its time and serial number
 * follow from the release, so that two builds are equal.
 * @param {import("./tree.mjs").Release} release
 * @returns {string}
 * @source https://cyclonedx.org/docs/1.5/json/
 */
export function billOfMaterials({ version, arch, epoch }) {
  const { command, first, env } = npmCommand();
  const args = [...first, "sbom", "--sbom-format=cyclonedx", "--package-lock-only", "--sbom-type=application"];
  const whole = JSON.parse(run(command, args, { cwd: root, env }));
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const web = readSourceTree(["src/console/web"], (path) => /\.tsx?$/.test(path));
  const foreign = new Set(
    Object.entries(lock.packages)
      .filter(([, entry]) => !fits(entry, arch))
      .map(([at, entry]) => `${at.slice(at.lastIndexOf("node_modules/") + 13)}@${entry.version}`),
  );
  const shipped = new Set(distributedPackages(lock, web).map((each) => `${each.name}@${each.version}`));
  /** @param {Component} component */
  const isShipped = ({ name, version: own }) => shipped.has(`${name}@${own}`) && !foreign.has(`${name}@${own}`);
  /** @type {Component[]} */
  const packages = whole.components.filter(isShipped).map((/** @type {Component} */ component) => ({
    ...component,
    scope: "required",
    properties: component.properties?.filter(({ name }) => name !== "cdx:npm:package:development") ?? [],
  }));
  const components = [...packages, nodeComponent(arch)].sort((one, other) =>
    one["bom-ref"] < other["bom-ref"] ? -1 : 1,
  );
  const refs = new Set(components.map((component) => component["bom-ref"]));
  const product = { ...whole.metadata.component, type: "application", name: "carillon", version };
  product["bom-ref"] = `carillon@${version}`;
  product.purl = `pkg:npm/carillon@${version}`;
  const metadata = { ...whole.metadata, timestamp: new Date(epoch * 1_000).toISOString(), component: product };
  const dependencies = whole.dependencies
    .map((/** @type {{ref: string, dependsOn: string[]}} */ each) => ({
      ref: each.ref === whole.metadata.component["bom-ref"] ? product["bom-ref"] : each.ref,
      dependsOn: each.dependsOn.filter((ref) => refs.has(ref)).sort(),
    }))
    .filter((/** @type {{ref: string}} */ { ref }) => refs.has(ref) || ref === product["bom-ref"]);
  const content = { ...whole, metadata, components, dependencies };
  const hash = createHash("sha256")
    .update(JSON.stringify({ ...content, serialNumber: "" }))
    .digest("hex");
  // A UUID of version 8: made from the content. @source RFC 9562, 5.8
  const uuid = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  return `${JSON.stringify({ ...content, serialNumber: `urn:uuid:${uuid}` }, null, 2)}\n`;
}

/** @param {string} arch @returns {Component} */
function nodeComponent(arch) {
  const lock = JSON.parse(readFileSync(join(root, ".ci/node/package-lock.json"), "utf8"));
  const name = `node-linux-${arch}`;
  const { version } = lock.packages[`node_modules/${name}`];
  return {
    "bom-ref": `node@${version}`,
    type: "platform",
    name: "node",
    version,
    scope: "required",
    purl: `pkg:generic/node@${version}?download_url=https://registry.npmjs.org/${name}/-/${name}-${version}.tgz`,
  };
}

/** @param {{os?: string[], cpu?: string[], libc?: string[]}} entry @param {string} arch */
function fits({ os, cpu, libc }, arch) {
  return (os?.includes("linux") ?? true) && (cpu?.includes(arch) ?? true) && (libc?.includes("glibc") ?? true);
}
