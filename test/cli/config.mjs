// What the outbox fixture gives to createSender, for the command.
export default {
  secretStorage: { keys: [{ id: 'test', key: Buffer.alloc(32, 1).toString('base64') }] },
};
