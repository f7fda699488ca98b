/**
 * Members of security groups, direct or through a linked directory group; for `FROM … m`. Columns: `id` (of the
 * membership, or of the membership in the directory group), `tie` (id of the link, null if direct),
 * `security_group_pk`, `user_pk`. A user may appear several times. Memberships through links do not count for the last
 * administrator.
 */
export const GROUP_MEMBERSHIPS_SQL = `(
  SELECT id, NULL AS tie, security_group_pk, user_pk FROM security_group_members
  UNION ALL SELECT d.id, t.id, t.security_group_pk, d.user_pk
  FROM security_group_scim_groups t JOIN scim_group_members d ON d.scim_group_pk = t.scim_group_pk)`;

/** As `GROUP_MEMBERSHIPS_SQL`, direct members only. */
export const DIRECT_MEMBERSHIPS_SQL = `(
  SELECT id, NULL AS tie, security_group_pk, user_pk FROM security_group_members)`;
