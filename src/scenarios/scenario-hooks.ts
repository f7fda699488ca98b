import { requiredValue } from "../lib/errors.ts";
import { assertConsistentLocation } from "../places/location-consistency.ts";
import { LOCATION_LEVELS, type Location, type LocationLevel } from "../places/location-levels.ts";
import { nameLocation } from "../places/location-names.ts";
import type scenarios from "../resources/scenarios/scenarios.ts";
import { assertReferencesVisible, collectReferences } from "../store/element-references.ts";
import type { ResourceHooks } from "../store/store.ts";
import { parseScenarioMessages, SCENARIO_MESSAGE_REFERENCES, serializeScenarioMessages } from "./scenario-messages.ts";
import {
  assertLocationVariable,
  createSiteQuestion,
  parseQuestions,
  type ScenarioRow,
  storedQuestionsOf,
} from "./scenario-questions.ts";

/**
 * Validates questions, messages and the default location of a scenario. `reportsSite`: scenarios with a location report a site
 * question. @source docs/decisions/0007-scenarios.md, Scenario
 */
export function scenarioHooks(reportsSite: boolean): ResourceHooks<typeof scenarios> {
  return {
    beforeWrite({ op, before, after, given }, tx, by) {
      if (!after) return;
      if (op === "create" || given.has("fields")) after.fields = parseQuestions(after.fields ?? [], reportsSite);
      if (op === "create" || given.has("messages")) {
        const messages = parseScenarioMessages(after.messages);
        assertReferencesVisible(messages, SCENARIO_MESSAGE_REFERENCES, { field: "messages", before, reader: tx, by });
        Object.assign(after, { messages, ...collectReferences(messages, SCENARIO_MESSAGE_REFERENCES) });
      }
      // The PIN may be known elsewhere only, so a change of something else does not ask for it.
      const isUnknown = before?.confirmationType === "pin" && before.confirmationPin === null;
      const lacksPin = after.confirmationType === "pin" && after.confirmationPin === null;
      if (lacksPin && !isUnknown && !by.replicated) throw requiredValue("confirmationPin");
      assertLocationVariable(after);
      setDefaultLocation(after, assertConsistentLocation(defaultLocationOf(after), tx, defaultField));
    },
    present(rows, { reader }) {
      const messages = serializeScenarioMessages(rows, reader);
      return rows.map((row, at) => ({
        fields:
          row.locationEnabled && reportsSite
            ? [...storedQuestionsOf(row), createSiteQuestion(row)]
            : storedQuestionsOf(row),
        messages: messages[at],
        defaultLocation: row.defaultSiteId === null ? null : nameLocation(defaultLocationOf(row), reader),
      }));
    },
  };
}

function defaultField(level: LocationLevel): `default${Capitalize<LocationLevel>}Id` {
  return `default${(level[0] as string).toUpperCase()}${level.slice(1)}Id` as `default${Capitalize<LocationLevel>}Id`;
}

/** Location of a scenario that is started without one. */
export function defaultLocationOf(row: ScenarioRow): Location {
  const { defaultSiteId, defaultBuildingId, defaultFloorId, defaultZoneId } = row;
  return { siteId: defaultSiteId, buildingId: defaultBuildingId, floorId: defaultFloorId, zoneId: defaultZoneId };
}

function setDefaultLocation(row: ScenarioRow, place: Location): void {
  for (const level of LOCATION_LEVELS) row[defaultField(level)] = place[`${level}Id`];
}
