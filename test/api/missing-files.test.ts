import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SAMPLE_PNG } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const dataDir = makeTempDir();
let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(dataDir);
});
afterAll(() => api.close());

it("answers and logs a file that is missing on disk as an error, and keeps its row readable", async () => {
  const image = new File([SAMPLE_PNG], "plan.png");
  const made = await api.call("POST", "/message-templates", {
    multipart: [
      ["name", "With a plan"],
      ["subject", "s"],
      ["image", image],
    ],
  });
  const at = `/message-templates/${made.body.id}`;
  expect((await api.call("GET", `${at}/image`)).status).toBe(200);
  rmSync(join(dataDir, "files"), { recursive: true });
  expect(await api.call("GET", `${at}/image`)).toMatchObject({ status: 500, body: { type: "internal" } });
  expect(api.logText()).toContain("ENOENT");
  expect((await api.call("GET", at)).body.imageFiles).toHaveLength(1);
});
