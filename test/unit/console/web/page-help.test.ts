import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isPagePath, PAGE_HELP } from "../../../../src/console/web/ui/page-help.ts";
import { parseHandbookPage } from "../../../../src/web-pages/help/handbook-page.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const WEB = join(ROOT, "src/console/web");
const HANDBOOK = join(ROOT, "docs/admin");

/** The page of a wall tablet has no frame and no way out. */
const WITHOUT_HELP = ["/launch"];
/** Titles outside the frame: log-in, first run, errors, the wall tablet. */
const PLAIN_TITLES = [
  "features/account/factor-setup-page.tsx",
  "features/account/first-run-page.tsx",
  "features/account/forgotten-password.tsx",
  "features/account/second-factor-step.tsx",
  "features/branding/branding.tsx",
  "features/scenarios/launch-page.tsx",
  "frame/not-found-page.tsx",
  "ui/page-title.tsx",
];

const anchors = new Set(
  readdirSync(HANDBOOK)
    .filter((file) => file.endsWith(".md"))
    .flatMap((file) => {
      const name = file.replace(/\.md$/, "");
      const { sections } = parseHandbookPage(name, readFileSync(join(HANDBOOK, file), "utf8"));
      return [name, ...sections.map(({ id }) => `${name}#${id}`)];
    }),
);

describe("the help of console pages", () => {
  it("covers every page of the router and no other", () => {
    const router = readFileSync(join(WEB, "router.tsx"), "utf8");
    const paths = ["/", ...[...router.matchAll(/\bat\(\s*"([^"]+)"/g)].map(([, path = ""]) => path)];
    expect(paths.length).toBeGreaterThan(50);
    const expected = paths.filter((path) => !WITHOUT_HELP.includes(path));
    expect(Object.keys(PAGE_HELP).sort()).toEqual(expected.sort());
  });

  it.each(Object.entries(PAGE_HELP))("of %s is an article that exists: %s", (_path, article) => {
    expect(anchors).toContain(article);
  });

  it("is beside the title of every page in the frame", () => {
    const plain = readdirSync(WEB, { recursive: true, encoding: "utf8" }).filter(
      (file) =>
        file.endsWith(".tsx") && !file.startsWith("inbox/") && readFileSync(join(WEB, file), "utf8").includes("<h1"),
    );
    expect(plain.sort()).toEqual(PLAIN_TITLES);
  });

  it.each(["/launch", "/absent", "toString", "", "/broadcasts/1"])("is absent for %j", (path) => {
    expect(isPagePath(path)).toBe(false);
  });
});
