import { Table } from '@mantine/core';
import type { AuditShape } from '../../../src/shapes.js';
import { hrefOf } from '../location.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { When } from './small-parts.tsx';

/** Who did what. */
export function AuditTable({ items, label }: { items: readonly AuditShape[]; label: string }) {
  const { t } = useTexts();
  return (
    <Table className="rows" aria-label={label} role="table">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.audit.when}</Table.Th>
          <Table.Th>{t.audit.who}</Table.Th>
          <Table.Th>{t.audit.what}</Table.Th>
          <Table.Th>{t.audit.target}</Table.Th>
          <Table.Th>{t.audit.note}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {items.map((entry) => (
          <Table.Tr key={entry.number}>
            <Table.Td>
              <When at={entry.at} />
            </Table.Td>
            <Table.Td className="main-cell">
              <bdi>{entry.actor}</bdi>
            </Table.Td>
            <Table.Td>
              {Object.hasOwn(t.audit.actions, entry.action) ? t.audit.actions[entry.action] : entry.action}
            </Table.Td>
            <Table.Td>
              {entry.endpoint !== null && (
                <a href={hrefOf(['endpoints'], { endpoint: entry.endpoint })}>
                  <bdi>{entry.endpoint}</bdi>
                </a>
              )}{' '}
              {entry.notification !== null && (
                <a className="mono" href={hrefOf(['notifications', entry.notification])}>
                  {entry.notification}
                </a>
              )}
            </Table.Td>
            <Table.Td className="note">
              <bdi>{entry.note}</bdi> <span className="meaning mono">{entry.details}</span>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
