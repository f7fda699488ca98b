import type { ScenarioStartFixture } from "./scenario-start-fixture.ts";

/**
 * Makes, at each call, what a scenario is started with: a site with a building, a device there, a role and who plays it, a
 * template for one user, and by `scenario` a scenario that asks for a place and two answers.
 */
export function createScenarioFixture(starts: () => ScenarioStartFixture) {
  let serial = 0;
  return async () => {
    const { api, create } = starts();
    const mark = serial++;
    const site = await create("/sites", { name: `North ${mark}`, externalId: `N-${mark}` });
    const hall = await create(`/sites/${site.id}/buildings`, { name: `Hall ${mark}` });
    const device = { name: "Button", externalId: `button-${mark}`, siteId: site.id, buildingId: hall.id };
    const button = await create("/api-devices", device);
    const role = await create("/site-roles", { name: `Team ${mark}` });
    const [ann, warden] = [await api.user(`Ann ${mark}`), await api.user(`Warden ${mark}`)];
    await create(`/sites/${site.id}/recipients`, { siteRoleId: role.id, userIds: [warden.id] });
    const template = await create("/message-templates", {
      name: `T${mark}`,
      subject: "{{what}} in {{where}}",
      body: "Wing {{wing}}.",
      ttsType: "custom-text",
      ttsCustomContent: "Attention: {{what}}, {{where}}",
      userIds: [ann.id],
    });
    const roleTemplate = await create("/message-templates", { name: `R${mark}`, subject: "To the team" });
    const scenario = (more: object = {}) =>
      create("/scenarios", {
        name: `Fire ${mark}`,
        backgroundColor: "#ff0000",
        type: "standard",
        locationEnabled: true,
        locationVariable: "where",
        fields: [
          { name: "What?", variable: "what", type: "text", required: true },
          { name: "Wing?", variable: "wing", type: "option", options: ["East", "West"] },
        ],
        messages: [
          { name: "To all", messageTemplateId: template.id },
          { name: "To the team", messageTemplateId: roleTemplate.id, siteRoleIds: [role.id] },
        ],
        ...more,
      });
    return { site, hall, button, role, ann, warden, template, roleTemplate, scenario };
  };
}
