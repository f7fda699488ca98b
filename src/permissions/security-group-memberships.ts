/**
 * Who is in which security group, by a membership of its own or by a tie to a group of a directory; for `FROM … m`. Columns:
 * `id` (of the membership, or of the one in the directory's group), `tie` (id, null without), `security_group_pk`, `user_pk`.
 * Somebody may stand there several times. own choice: ties alone never make the last administrator.
 */
export const GROUP_MEMBERSHIPS_SQL = `(
  SELECT id, NULL AS tie, security_group_pk, user_pk FROM security_group_members
  UNION ALL SELECT d.id, t.id, t.security_group_pk, d.user_pk
  FROM security_group_scim_groups t JOIN scim_group_members d ON d.scim_group_pk = t.scim_group_pk)`;

/** As `MEMBERSHIPS`, without the ties. */
export const DIRECT_MEMBERSHIPS_SQL = `(
  SELECT id, NULL AS tie, security_group_pk, user_pk FROM security_group_members)`;
