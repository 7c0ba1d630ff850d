import { launch } from './setup/launcher/launch';

// What the services and the application need is stopped by then; an open handle must not keep the terminal.
void launch().then((code) => process.exit(code));
