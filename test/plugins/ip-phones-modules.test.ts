import { describe, expect, it } from "vitest";
import { createConcurrencyLimit } from "../../plugins/ip-phones/concurrency-limit.ts";
import { parseHttpResponse } from "../../plugins/ip-phones/http-response.ts";
import { textPage } from "../../plugins/ip-phones/message-page.ts";
import { phoneModelByName } from "../../plugins/ip-phones/phone-models.ts";
import { createPhoneTaskQueue, LOWEST_PRIORITY } from "../../plugins/ip-phones/phone-task-queue.ts";
import { elementText, escapeXml, unescapeXml } from "../../plugins/ip-phones/xml.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const BODY = "<x>é</x>";

describe("the answer of a phone's web server", () => {
  it.each([
    ["with a length", `HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n${BODY}`],
    ["in chunks", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n<x>\r\n6;ext=1\r\né</x>\r\n0\r\n\r\n`],
    ["after an interim answer", `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nContent-Length:9\r\n\r\n${BODY}`],
  ])("%s is whole only when it is, wherever the network cuts it", (_, text) => {
    const bytes = Buffer.from(text);
    const end = text.includes("chunked") ? bytes.length - 2 : bytes.length;
    for (let cut = 0; cut < end; cut++) expect(parseHttpResponse(bytes.subarray(0, cut), false)).toBe("incomplete");
    expect(parseHttpResponse(bytes, false)).toEqual({ status: 200, body: BODY });
    expect(parseHttpResponse(bytes.subarray(0, end - 1), true)).toBe("broken");
  });

  it("without a length ends with the connection", () => {
    const bytes = Buffer.from(`HTTP/1.0 200 OK\r\n\r\n${BODY}`);
    expect(parseHttpResponse(bytes, false)).toBe("incomplete");
    expect(parseHttpResponse(bytes, true)).toEqual({ status: 200, body: BODY });
  });

  it.each(["HTTP/2 200\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"])(
    "is refused when it is %j",
    (text) => expect(parseHttpResponse(Buffer.from(text), true)).toBe("broken"),
  );
});

describe("turns with phones", () => {
  function stage(lanes: number, maxLowestPriority: number) {
    const clock = createFakeClock();
    const log: string[] = [];
    const ends = new Map<string, () => void>();
    const turns = createPhoneTaskQueue(clock, { maxConcurrent: () => lanes, maxLowestPriority }, (error) =>
      log.push(String(error)),
    );
    const add = (lane: number, key: string, name = key): void =>
      turns.add(lane, key, () => {
        log.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      });
    const end = async (name: string): Promise<void> => {
      ends.get(name)?.();
      await clock.advance(0);
    };
    return { clock, log, turns, add, end };
  }

  it("leave the way to emergencies: questions go on slowly for a second after one was begun", async () => {
    const { clock, log, add, end } = stage(64, 64);
    add(0, "urgent");
    for (let n = 1; n <= 64; n++) add(LOWEST_PRIORITY, `q${n}`);
    await clock.advance(0);
    expect(log).toEqual(["urgent", "q1", "q2"]);
    await clock.advance(900);
    await end("q1");
    expect(log).toHaveLength(4);
    await clock.advance(100);
    await end("q2");
    expect(log).toHaveLength(65);
  });

  it("begin with the urgent ones and keep to the limit", async () => {
    const { clock, log, add, end } = stage(2, 1);
    for (const [lane, key] of [
      [9, "a"],
      [5, "b"],
      [0, "c"],
      [5, "d"],
    ] as const)
      add(lane, key);
    await clock.advance(0);
    expect(log).toEqual(["c", "b"]);
    await end("b");
    expect(log).toEqual(["c", "b", "d"]);
    await end("c");
    expect(log).toEqual(["c", "b", "d", "a"]);
  });

  it("go on slowly with what nobody waits for while the other places are taken", async () => {
    const { clock, log, add, end } = stage(1, 1);
    add(LOWEST_PRIORITY, "a");
    add(LOWEST_PRIORITY, "b");
    add(5, "c");
    add(5, "d");
    await clock.advance(0);
    expect(log).toEqual(["c", "a"]);
    await end("a");
    expect(log).toEqual(["c", "a", "b"]);
    await end("c");
    expect(log).toEqual(["c", "a", "b", "d"]);
  });

  it("keep the order of one phone, and what an urgent one waits for is as urgent", async () => {
    const { clock, log, add, end } = stage(1, 1);
    add(3, "x");
    await clock.advance(0);
    add(5, "other");
    add(9, "a", "a1");
    add(7, "a", "a2");
    add(0, "a", "a3");
    await end("x");
    expect(log).toEqual(["x", "a1"]);
    await end("a1");
    await end("a2");
    await end("a3");
    expect(log).toEqual(["x", "a1", "a2", "a3", "other"]);
  });

  it("go on after one that broke its word", async () => {
    const { clock, log, turns, add } = stage(1, 1);
    turns.add(5, "a", () => Promise.reject(new Error("broken")));
    add(5, "a", "after");
    await clock.advance(0);
    await clock.advance(0);
    expect(log).toEqual(["Error: broken", "after"]);
  });
});

describe("the pace", () => {
  it("grows with answers and is halved once a second while answers are late", async () => {
    const clock = createFakeClock();
    const pace = createConcurrencyLimit(clock, { min: 2, start: 8, max: 10 });
    for (let answer = 0; answer < 5; answer++) pace.recordResponse(2_000);
    expect(pace.current()).toBe(10);
    pace.recordResponse(2_500);
    expect(pace.current()).toBe(10);
    pace.recordResponse(3_001);
    expect(pace.current()).toBe(9);
    pace.recordResponse(2);
    const seen: number[] = [];
    for (const ms of [0, 0, 999, 1, 1_000, 1_000]) {
      await clock.advance(ms);
      pace.recordTimeout();
      seen.push(pace.current());
    }
    expect(seen).toEqual([5, 5, 5, 2, 2, 2]);
    pace.recordResponse(3_001);
    expect(pace.current()).toBe(2);
  });
});

describe("what phones write and read", () => {
  it("is escaped and read back", () => {
    const text = `<a b="c">&amp; 'é' 漢\n\t😀`;
    expect(unescapeXml(escapeXml(text))).toBe(text);
    expect(escapeXml(text)).not.toMatch(/[<>"']|&(?!\w+;)/);
    expect(escapeXml("a\u0000b\u001bc\ud800d\udc00\uffff")).toBe("abcd");
  });

  it("keeps a reference that nobody knows", () => {
    expect(unescapeXml("&#65;&#x42;&nope;&#x110000;&lt;")).toBe("AB&nope;&#x110000;<");
  });

  it("is found by its element's name", () => {
    expect(elementText("<a><RcvrPackets> 12 </RcvrPackets></a>", "RcvrPackets")).toBe("12");
    expect(elementText("<a><RcvrPacketsX>12</RcvrPacketsX></a>", "RcvrPackets")).toBe(null);
  });
});

describe("models", () => {
  it.each([
    ["Cisco 8845", "colour", 559],
    ["CP-8811", "mono", 559],
    ["Cisco 7821", "mono", undefined],
    ["Cisco 8841-3PCC", "no-rtp", undefined],
    ["CP-8832", "colour", 480],
    ["Cisco 9871", "colour", 960],
    ["", "mono", undefined],
    ["Something 18845", "mono", undefined],
  ])("%s is %s", (name, kind, width) => {
    expect(phoneModelByName(name).kind).toBe(kind);
    expect(phoneModelByName(name).image?.width).toBe(width);
  });
});

describe("text pages", () => {
  const content = { subject: "Fire", body: "Leave\nnow", short: "Fire", drill: false, isOne: true };

  it("are one text without a title where the message says so, and name a drill all the same", () => {
    const page = textPage(content);
    expect(page).not.toContain("<Title>");
    expect(page).toContain("<Text>Fire\nLeave\nnow</Text>");
    const drill = textPage({ ...content, drill: true });
    expect(drill).toContain("<Title>DRILL</Title><Text>THIS IS A DRILL.\nFire\nLeave\nnow\nTHIS IS A DRILL.</Text>");
    expect(textPage({ ...content, isOne: false })).toContain("<Title>Fire</Title><Text>Leave\nnow</Text>");
  });
});
