import { Checkbox, Table } from '@mantine/core';
import type { SummaryShape } from '../../../src/shapes.js';
import { goTo, hrefOf } from '../location.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { Reason, StateMark, When, Segments } from './small-parts.tsx';

export interface Selection {
  ids: ReadonlySet<string>;
  toggle: (id: string) => void;
  toggleAll: () => void;
}

/** Notifications as rows; on a narrow screen each row becomes a card. */
export function NotificationTable({
  items,
  selection,
  label,
}: {
  items: readonly SummaryShape[];
  selection?: Selection;
  label: string;
}) {
  const { t } = useTexts();
  const isAll = selection !== undefined && items.length > 0 && items.every((item) => selection.ids.has(item.id));
  return (
    <Table className="rows" highlightOnHover aria-label={label} role="table">
      <Table.Thead>
        <Table.Tr>
          {selection !== undefined && (
            <Table.Th w={28}>
              <Checkbox
                aria-label={t.dead.selectAll}
                checked={isAll}
                indeterminate={!isAll && selection.ids.size > 0}
                onChange={selection.toggleAll}
              />
            </Table.Th>
          )}
          <Table.Th>{t.notifications.bizId}</Table.Th>
          <Table.Th>{t.notifications.state}</Table.Th>
          <Table.Th>{t.notifications.endpoint}</Table.Th>
          <Table.Th>{t.notifications.type}</Table.Th>
          <Table.Th>{t.notifications.reason}</Table.Th>
          <Table.Th className="number">{t.notifications.attempts}</Table.Th>
          <Table.Th>{t.notifications.created}</Table.Th>
          <Table.Th>{selection === undefined ? t.notifications.next : t.dead.died}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {items.map((item) => (
          <Table.Tr key={item.id} onClick={(event) => openRow(event, item.id)} data-state={item.state}>
            {selection !== undefined && (
              <Table.Td className="select">
                <Checkbox
                  aria-label={t.dead.select(item.bizId)}
                  checked={selection.ids.has(item.id)}
                  onChange={() => selection.toggle(item.id)}
                />
              </Table.Td>
            )}
            <Table.Td className="main-cell">
              <a href={hrefOf(['notifications', item.id])} data-row-link aria-label={t.common.open(item.bizId)}>
                <bdi className="mono">{item.bizId}</bdi>
              </a>
              {item.subject !== null && <bdi className="meaning mono subject">{item.subject}</bdi>}
            </Table.Td>
            <Table.Td>
              <StateMark state={item.state} isClaimed={item.isClaimed} />
            </Table.Td>
            <Table.Td data-label={t.notifications.endpoint}>
              <Segments text={item.endpoint} />
            </Table.Td>
            <Table.Td data-label={t.notifications.type}>
              <Segments text={item.type} />
            </Table.Td>
            <Table.Td className="reason-cell">
              <Reason reason={item.reason} isBrief={item.state !== 'dead'} />
            </Table.Td>
            <Table.Td className="number" data-label={t.notifications.attempts}>
              {item.attempts}
              {item.round > 1 && <span className="meaning"> · {t.notification.round(item.round)}</span>}
            </Table.Td>
            <Table.Td data-label={t.notifications.created}>
              <When at={item.createdAt} />
            </Table.Td>
            <Table.Td data-label={selection === undefined ? t.notifications.next : t.dead.died}>
              <When at={item.settledAt ?? item.dueAt} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** The whole row opens it, except what can be pressed by itself, and not when somebody marks text to copy it. */
function openRow(event: React.MouseEvent, id: string) {
  const target = event.target as HTMLElement;
  if (target.closest('a, button, input, label') !== null || window.getSelection()?.toString() !== '') return;
  goTo(['notifications', id]);
}
