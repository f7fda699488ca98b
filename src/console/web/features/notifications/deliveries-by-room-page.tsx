import { Link, useParams } from "@tanstack/react-router";
import { type ReachVerdict, VERDICT_TONES } from "../../../../resources/notifications/device-outcomes.ts";
import { countOutcomes, reachVerdict } from "../../../../resources/notifications/outcome-counts.ts";
import type { FloorRow } from "../../api/place-rows.ts";
import type { DeliveriesByRoom, NotificationRow, PlacedDevice } from "../../api/rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { OutcomeChip } from "../../ui/outcome-chip.tsx";
import { ReachBar } from "../../ui/reach-bar.tsx";
import { roomName } from "../../ui/room-name.ts";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { DrillChip, VerdictChip } from "../../ui/status-chip.tsx";
import { UnavailablePage } from "../../ui/unavailable-page.tsx";
import { useImage } from "../../ui/use-image.ts";
import { outlineOf, parseGeoreference } from "../places/georeference.ts";
import { PlanImage } from "../places/plan-image.tsx";
import { NotificationActions } from "./notification-actions.tsx";
import "../../ui/lines.css";
import "../places/plan.css";
import { PageTitle } from "../../ui/page-title.tsx";
import { SubjectText } from "../../ui/subject-text.tsx";

type PlacedRoom = DeliveriesByRoom["rooms"][number];

const FLOOR = "sites/{siteId}/buildings/{buildingId}/floors/{floorId}";

/** What sounds where: the plans of all floors that a message went to, with each room in the state of its devices. */
export default function DeliveriesByRoomPage() {
  const { t } = useTranslation();
  const { notificationId = "" } = useParams({ strict: false });
  const message = useRow<NotificationRow>("notifications/{notificationId}", { notificationId });
  const found = useRow<DeliveriesByRoom>("notifications/{notificationId}/rooms", { notificationId });
  const row = message.data;
  if (!row || !found.data)
    return <UnavailablePage title={t("deliveries-by-room.title")} error={message.error ?? found.error} />;
  const { buildings, rooms, unplaced } = found.data;
  const floors = new Map<string, PlacedRoom[]>();
  for (const each of rooms) floors.set(each.room.floorId, [...(floors.get(each.room.floorId) ?? []), each]);
  return (
    <div className="page">
      <header className={row.drill ? "card drill" : "card"}>
        <div className="head">
          <DrillChip drill={row.drill} />
          <PageTitle>{t("deliveries-by-room.title")}</PageTitle>
          <span className="space" />
          <NotificationActions row={row} />
        </div>
        <Link to="/broadcasts/$notificationId" params={{ notificationId }}>
          <SubjectText row={row} />
        </Link>
        <ReachBar outcomes={row.progress.outcomes} />
        {unplaced > 0 && (
          <p className="soft">
            {t("deliveries-by-room.unplaced", { count: unplaced })} {t("deliveries-by-room.unplaced-hint")}
          </p>
        )}
      </header>
      {buildings.length > 1 && (
        <section className="card">
          <h2>{t("deliveries-by-room.by-building")}</h2>
          <ul className="plain lined">
            {buildings.map((building) => (
              <li key={building.buildingId} className="stack tight">
                <div className="row">
                  <strong className="grow">{`${building.siteName}, ${building.buildingName}`}</strong>
                  <VerdictChip verdict={building.verdict} />
                </div>
                <ReachBar outcomes={building.outcomes} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {[...floors].map(([floorId, those]) => (
        <Floor key={floorId} rooms={those} />
      ))}
    </div>
  );
}

function verdictOf(devices: readonly PlacedDevice[]): ReachVerdict {
  return reachVerdict(countOutcomes(devices));
}

function Floor({ rooms }: { rooms: readonly PlacedRoom[] }) {
  const { t } = useTranslation();
  const [first] = rooms;
  const { siteId = "", buildingId = "", floorId = "" } = first?.room ?? {};
  const params = { siteId, buildingId, floorId };
  const asked = useRow<FloorRow>(FLOOR, params, { includeZoneBoundaries: true });
  const floor = asked.data?.id === floorId ? asked.data : undefined;
  const picture = useImage(`${FLOOR}/floorPlanImage`, params, floor?.floorPlanImage ? floor.updatedAt : null);
  const ground = parseGeoreference(floor?.imageOrigins);
  const tones = new Map(
    rooms.map(({ room, devices }) => [room.zoneId, VERDICT_TONES[verdictOf(devices)] || ("waiting" as const)]),
  );
  const outlines = (floor?.zones ?? []).flatMap(({ id, name, boundary }) => {
    const outline = outlineOf(boundary, ground);
    const tone = tones.get(id);
    return outline && tone ? [{ id, name, outline, tone }] : [];
  });
  if (!first) return null;
  return (
    <section className="card" aria-label={first.room.floorName}>
      <h2>{roomName(first.room)}</h2>
      <ErrorLine error={asked.error ?? picture.error} />
      {picture.url ? (
        <PlanImage
          url={picture.url}
          name={first.room.floorName}
          outlines={outlines}
          marks={[]}
          onRatio={() => {}}
          onMove={() => {}}
        />
      ) : (
        floor && !floor.floorPlanImage && <p className="soft">{t("deliveries-by-room.no-plan")}</p>
      )}
      <ul className="plain lined">
        {rooms.map((each) => (
          <RoomLine key={each.room.zoneId} {...each} />
        ))}
      </ul>
    </section>
  );
}

function RoomLine({ room, devices }: PlacedRoom) {
  return (
    <li className="stack tight">
      <div className="row">
        <strong className="grow">{room.name}</strong>
        <VerdictChip verdict={verdictOf(devices)} />
      </div>
      {devices.map((device) => (
        <div key={device.deviceId} className="row">
          <span className="grow">{device.name}</span>
          {device.reason && (
            <span className="soft">
              <SentenceText text={device.reason} sentence={device.reasonSentence} />
            </span>
          )}
          <OutcomeChip delivery={device} />
        </div>
      ))}
    </li>
  );
}
