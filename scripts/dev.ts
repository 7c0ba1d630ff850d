import { launch } from './setup/launcher/launch';
import { Watcher } from './setup/launcher/watch-sources';

void launch({ watch: () => new Watcher() }).then((code) => process.exit(code));
