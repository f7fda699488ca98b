import { describe, expect, it } from "vitest";
import { MalformedTableError, readDelimitedRows, type TableLine } from "../../../src/importers/delimited-file.ts";
import { detectTableFormat, type GivenFormat, type TableFormat } from "../../../src/importers/table-format.ts";
import { systemClock } from "../../../src/lib/clock.ts";

/** Bytes in pieces of `size`, so that letters and line ends are cut. */
async function* inPieces(bytes: Uint8Array, size = 3): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Uint8Array, given: GivenFormat = {}, size = 3) {
  const open = async () => inPieces(bytes, size);
  const format = await detectTableFormat(open, given, "comma", systemClock);
  const lines: TableLine[] = [];
  for await (const line of readDelimitedRows(await open(), format, systemClock)) lines.push(line);
  return { format, lines, cells: lines.map(({ cells }) => cells), faults: lines.filter(({ fault }) => fault !== null) };
}

const utf16 = (text: string, bom: boolean): Buffer => Buffer.from(`${bom ? "\ufeff" : ""}${text}`, "utf16le");
const TABLE = "name,list\r\nZoë,Chœur\r\n";
const FRENCH = [
  ["name", "list"],
  ["Zoë", "Chœur"],
];

describe("a table is parsed", () => {
  it.each<[string, Uint8Array, TableFormat["encoding"]]>([
    ["UTF-8", Buffer.from(TABLE), "utf-8"],
    ["UTF-8 with a byte order mark", Buffer.from(`\ufeff${TABLE}`), "utf-8"],
    ["UTF-16 little endian", utf16(TABLE, true), "utf-16le"],
    ["UTF-16 big endian", utf16(TABLE, true).swap16(), "utf-16be"],
    ["UTF-16 little endian without a mark", utf16(TABLE, false), "utf-16le"],
    ["UTF-16 big endian without a mark", utf16(TABLE, false).swap16(), "utf-16be"],
    ["Windows-1252", Buffer.from("name,list\r\nZo\xeb,Ch\x9cur\r\n", "latin1"), "windows-1252"],
  ])("in %s", async (_what, bytes, encoding) => {
    const { format, cells } = await read(bytes);
    expect(format.encoding).toBe(encoding);
    expect(cells).toEqual(FRENCH);
  });

  it.each<[string, string, TableFormat["delimiter"]]>([
    ["semicolons, with commas in names", "name;list\nNovak, Ann;Choir\nMoss, Bob;Choir\n", "semicolon"],
    ["commas, with semicolons between lists", "name,list\nAnn,A;B;C\nBob,A;B\n", "comma"],
    ["tabs", "name\tlist\nAnn\tA,B\n", "tab"],
    ["pipes", "name|list\nAnn|A\n", "pipe"],
    ["a first line that names them", "sep=;\nname;list\nAnn;A\n", "semicolon"],
    ["none: one column", "name\nAnn\n", "comma"],
    ["quoted commas", 'name;list\n"a,b,c";"d,e"\n', "semicolon"],
    ["old line ends", "name;list\rAnn;A\r", "semicolon"],
  ])("with %s", async (_what, text, delimiter) => {
    const { format, cells } = await read(Buffer.from(text));
    expect(format.delimiter).toBe(delimiter);
    expect(cells[0]?.[0]).toBe("name");
    expect(new Set(cells.map(({ length }) => length)).size).toBe(1);
  });

  it("with the given options, if it is ambiguous", async () => {
    const text = "name,a;list\nO'Brien,b;A\n";
    expect((await read(Buffer.from(text), { delimiter: "semicolon" })).cells[1]).toEqual(["O'Brien,b", "A"]);
    expect((await read(Buffer.from("'name','list'\n'Ann','A,B'\n"))).cells[1]).toEqual(["Ann", "A,B"]);
    expect((await read(Buffer.from('name,list\n"Ann,A\n'), { quote: "none" })).cells[1]).toEqual(['"Ann', "A"]);
  });

  it("takes one byte that is not UTF-8 for damage, not for another encoding", async () => {
    const bytes = Buffer.concat([
      Buffer.from("name\nZoë\nJosé\n"),
      Buffer.from([0x41, 0xff, 0x0a]),
      Buffer.from("Bob\n"),
    ]);
    const { format, faults, cells } = await read(bytes);
    expect(format.encoding).toBe("utf-8");
    expect(faults).toMatchObject([{ line: 4, fault: { message: expect.stringContaining("not UTF-8") } }]);
    expect(cells.at(-1)).toEqual(["Bob"]);
  });
});

describe("a malformed line does not spoil the others", () => {
  it.each<[string, string, number, string[][]]>([
    [
      "a quote in a cell",
      'a,b\n1,Dwayne "Rock" J\n2,x\n',
      2,
      [
        ["a", "b"],
        ["2", "x"],
      ],
    ],
    [
      "one quote in a cell",
      'a,b\n1,5" pipe\n2,x\n',
      2,
      [
        ["a", "b"],
        ["2", "x"],
      ],
    ],
    [
      "a quote that is not closed",
      'a,b\n1,"open\n2,x\n3,y\n',
      2,
      [
        ["a", "b"],
        ["2", "x"],
        ["3", "y"],
      ],
    ],
    [
      "letters after a closing quote",
      'a,b\n1,"x"y\n2,x\n',
      2,
      [
        ["a", "b"],
        ["2", "x"],
      ],
    ],
    [
      "an open quote in the last line",
      'a,b\n2,x\n1,"open',
      3,
      [
        ["a", "b"],
        ["2", "x"],
      ],
    ],
  ])("%s", async (_what, text, line, good) => {
    const { lines, faults } = await read(Buffer.from(text));
    expect(faults.map((each) => each.line)).toEqual([line]);
    expect(lines.filter(({ fault }) => fault === null).map(({ cells }) => cells)).toEqual(good);
    expect(faults[0]?.cells[0]).toBe("1");
  });

  it("two open quotes in different lines are two faults, and the line between them comes in", async () => {
    const { faults, lines } = await read(Buffer.from('a,b\n1,"open\n2,x\n3,"open\n4,y\n'));
    expect(faults.map(({ line }) => line)).toEqual([2, 4]);
    expect(lines.filter(({ fault }) => fault === null).map(({ line }) => line)).toEqual([1, 3, 5]);
  });

  it("names the column of a quote", async () => {
    const { faults } = await read(Buffer.from('a,b,c\n1,2,a "b" c\n'));
    expect(faults[0]?.fault?.column).toBe(2);
  });

  it("cells of several lines are no fault", async () => {
    const { lines, faults } = await read(Buffer.from('a,b\n1,"x\n\ny, ""z"""\n2,x\n'));
    expect(faults).toEqual([]);
    expect(lines[1]).toMatchObject({ line: 2, cells: ["1", 'x\n\ny, "z"'] });
    expect(lines[2]).toMatchObject({ line: 5 });
  });

  it("gives up where many quotes are open over a thousand lines, and where a line has no end", async () => {
    const part = `1,"open\n${"2,x\n".repeat(1_001)}`;
    const text = (parts: number): Buffer => Buffer.from(`a,b\n${part.repeat(parts)}`);
    expect((await read(text(2), {}, 65_536)).faults).toHaveLength(2);
    await expect(read(text(101), {}, 65_536)).rejects.toThrow(MalformedTableError);
    await expect(read(Buffer.from(`a\n${"x".repeat(1_100_000)}\n`), {}, 65_536)).rejects.toThrow("1048576");
  });

  it("numbers lines in a long file", async () => {
    const rows = Array.from({ length: 3_000 }, (_, at) => `${at},${at % 1_000 === 999 ? 'x "y" z' : "name"}`);
    const { lines, faults } = await read(Buffer.from(["id,name", ...rows].join("\r\n")), {}, 4_096);
    expect(lines).toHaveLength(3_001);
    expect(faults.map(({ line, cells }) => [line, cells[0]])).toEqual([
      [1_001, "999"],
      [2_001, "1999"],
      [3_001, "2999"],
    ]);
  });
});
