import { describe, expect, it } from "vitest";
import { pagingZoneSdp } from "../../../src/devices/paging-zone-sdp.ts";

const ZONE = {
  deviceIdentifier: "zone:Gym",
  description: "Gym\r\nm=evil",
  attributes: { Group: "239.1.2.3", Port: "20480" },
};

describe("the description of a zone", () => {
  it("names the address, the TTL and the payload type", () => {
    expect(pagingZoneSdp(ZONE)?.split("\r\n")).toEqual([
      ...["v=0", "o=- 0 0 IN IP4 0.0.0.0", "s=Gym  m=evil", "t=0 0"],
      ...["m=audio 20480 RTP/AVP 0", "c=IN IP4 239.1.2.3/16", "a=rtpmap:0 PCMU/8000", "a=ptime:20", ""],
    ]);
  });

  it("has one stream for each address", () => {
    const attributes = { ...ZONE.attributes, Codec: "G722", TTL: "4", Priorities: "0-1=239.1.2.9:50008,2-4=50004" };
    const lines = pagingZoneSdp({ ...ZONE, attributes })?.split("\r\n") ?? [];
    expect(lines.filter((line) => /^[mc]=/.test(line))).toEqual([
      ...["m=audio 20480 RTP/AVP 9", "c=IN IP4 239.1.2.3/4", "m=audio 50008 RTP/AVP 9", "c=IN IP4 239.1.2.9/4"],
      ...["m=audio 50004 RTP/AVP 9", "c=IN IP4 239.1.2.3/4"],
    ]);
    expect(lines).toContain("a=rtpmap:9 G722/8000");
  });

  it.each([{}, { Group: "239.1.2.3" }, { Group: "gym", Port: "1" }, { ...ZONE.attributes, Codec: "opus" }])(
    "is none for a device that is no zone: %j",
    (attributes: Record<string, string>) => expect(pagingZoneSdp({ ...ZONE, attributes })).toBeNull(),
  );
});
