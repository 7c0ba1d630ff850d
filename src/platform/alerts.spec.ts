import { AlertBoard, type AlertName } from './alerts';

describe('the alert board', () => {
  function board() {
    const lines: { fields: object; message: string }[] = [];
    const counted: AlertName[] = [];
    let nowMs = 0;
    const log = {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (fields: object, message: string) => lines.push({ fields, message }),
    };
    const alerts = new AlertBoard(
      log,
      (alert) => counted.push(alert),
      () => new Date((nowMs += 1_000)),
    );
    return { alerts, lines, counted };
  }

  it('makes one error line, one count and one entry of an alert', () => {
    const { alerts, lines, counted } = board();
    alerts.raise('ALERT_OUTBOX_LAG', 'captures are late', { key: 'cards', lag_ms: 6_000 });
    expect(lines).toEqual([
      { fields: { alert: 'ALERT_OUTBOX_LAG', key: 'cards', lag_ms: 6_000 }, message: 'captures are late' },
    ]);
    expect(counted).toEqual(['ALERT_OUTBOX_LAG']);
    expect(alerts.latest()).toMatchObject([{ alert: 'ALERT_OUTBOX_LAG', key: 'cards', count: 1, clearedAt: null }]);
  });

  it('counts repetitions in one entry, and begins anew after it was cleared', () => {
    const { alerts } = board();
    alerts.raise('ALERT_OUTBOX_LAG', 'late');
    alerts.raise('ALERT_OUTBOX_LAG', 'later');
    expect(alerts.latest()).toMatchObject([{ detail: 'later', count: 2 }]);
    alerts.clear('ALERT_OUTBOX_LAG');
    expect(alerts.latest()[0]?.clearedAt).toBeInstanceOf(Date);
    alerts.raise('ALERT_OUTBOX_LAG', 'again');
    expect(alerts.latest()).toMatchObject([{ count: 1, clearedAt: null }]);
  });

  it('keeps the latest 50, the newest first', () => {
    const { alerts } = board();
    for (let turn = 0; turn < 60; turn += 1) alerts.raise('ALERT_OUTBOX_LAG', 'x', { key: String(turn) });
    const keys = alerts.latest().map(({ key }) => key);
    expect(keys).toHaveLength(50);
    expect(keys[0]).toBe('59');
    expect(keys.at(-1)).toBe('10');
  });
});
