/**
 * Preset dictionary of the frame compression: typical rows and frames, the most common last. Both sides name it by its hash,
 * so any change of the text is another subprotocol. @source docs/decisions/0300-sync-limits.md
 */
export const COMPRESSION_DICTIONARY = [
  '"latitude":,"longitude":,"externalId":null,"siteId":"","parentId":null,"path":"","namePath":"","isShared":false,',
  '"bellScheduleEntries":[{"entryNum":0,"ringListId":null}],"startDate":"2026-","endDate":"2026-","numWeeks":1,"timeZone":"',
  'America/Europe/New_York"entries":[{"id":"","time":"08:00:00","messageTemplateId":"","deviceGroupIds":[],"distributionListIds":[]}]',
  '"filters":[{"attribute":"Name","comparison":"BEGINS_WITH","value":"","complement":false,"caseSensitive":false}],',
  '"baseDeviceGroupIds":[],"additionIds":[],"exclusionIds":[],"filterOperator":"OR","logicalExpression":null,',
  '"subject":"","body":"","userIds":[],"areaOfInterestIds":[],"collaborationGroupIds":[],"additionalDeviceIds":[],',
  '"confirmationRequestId":null,"image":null,"imageAltText":null,"audio":{"sha256":"","size":,"contentType":"audio/wav","fileName":""},',
  '"alertTone":"default","ttsType":"none","ttsVoiceId":null,"ttsCustomContent":null,"ttsSpeed":null,"notificationProfileId":null,',
  '"expiration":null,"expiresAt":null,"abortedAt":null,"priority":"normal""critical","customVars":{},"draft":false,"drill":false,',
  '"metadata":null,"notificationSource":"bell-schedule""api","initiatorId":"","initiatingEndpointId":"","initiationSourceType":null,',
  '"initiationSourceId":null,"initiationDetails":null,"incidentId":null,"scenarioNotificationId":null,"parentNotificationId":null,',
  '"effectiveSettings":{},"stage":"settled","stageAt":,"priorityLevel":4,"heldUntil":null,"settledAt":,"retriedAt":null,"ssrc":,',
  '"extensionId":"","deviceIdentifier":"SEP","icopId":"","type":"phones""speakers","attributes":{"Name":"","IPAddress":"10.",',
  '"MACAddress":"","DeviceProduct":"","IsRegistered":"true","HttpPort":"80","Group":"239.192.","Port":"20480","Codec":"PCMU","TTL":"1"},',
  '"defunct":false,"isLicensed":true,"provider":"ip-phones""multicast-zones","state":"","lastLevel":null,"lastSeenAt":null,"failures":0,',
  '"userId":null,"email":"@example.org","read":false,"readTimestamp":null,"confirmationResponse":null,"dynamicReply":null,',
  '"value":{"commandId":"","outcome":null},"referenceType":null,"referenceId":null,"state":"success""pending","severity":"info""error",',
  '"notificationId":"","deviceId":"","userDeviceId":null,"collaborationGroupId":null,"endpointId":"","name":"","level":"accepted""failed""skipped",',
  '"reason":null,"attempt":1,"late":false,"plannedAt":,"sentAt":,"acceptedAt":,"playingAt":,"provenAt":null,"endedAt":,"notAfter":,"retryAt":null,',
  '"details":{},"readStatus":null,"confirmationOption":null,"description":null,"createdAt":17,"updatedAt":17,"id":"0199',
  '{"t":"ack","feed":"up.bulk","to":{"t":"snap","h0":,"from":null,"after":"","rows":[["p","users","',
  '{"t":"rows","feed":"up.bulk","from":,"to":,"tail":"","rows":[["p","deliveries","0199","notification-recipients","devices","',
  '{"t":"rows","feed":"down.bulk","from":,"to":,"rows":[["p","distribution-lists","device-groups","message-templates","sites","0199',
].join("");
