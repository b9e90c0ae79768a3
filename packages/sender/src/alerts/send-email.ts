import type { EmailOptions } from './alerts-options.js';
import type { EmailChannel } from './alert-channel.js';
import type { AlertText } from './alert-words.js';
import { formatHtml } from './format-alert.js';

/** One mail. `id` is the same on each attempt, so a mail program shows a repeat as the same mail. */
export interface Mail {
  id: string;
  text: AlertText;
  channel: EmailChannel;
  email: EmailOptions;
  timeoutMs: number;
}

/**
 * Sends a mail.
 *
 * @throws Error if the server does not take it for anybody, or nodemailer is not installed.
 */
export async function sendEmail({ id, text, channel, email, timeoutMs }: Mail): Promise<void> {
  const { createTransport } = await loadNodemailer();
  const transport = createTransport({
    url: email.smtp,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    await transport.sendMail({
      from: email.from,
      to: typeof channel.to === 'string' ? channel.to : [...channel.to],
      messageId: `<${id}@bestnotify>`,
      subject: text.title,
      text: [text.title, '', ...text.lines, ''].join('\n'),
      html: formatHtml(text),
      headers: { 'auto-submitted': 'auto-generated' }, // RFC 3834: no out-of-office replies
    });
  } finally {
    transport.close();
  }
}

/** Nobody without e-mail alerts needs it installed. */
async function loadNodemailer() {
  try {
    return await import('nodemailer');
  } catch (cause) {
    throw new Error('E-mail alerts need the package nodemailer: npm install nodemailer.', { cause });
  }
}
