"""Asks to local models: a bounded queue in Redis, one worker process a device, answers within a deadline.

No module here but those in `ml/` may import torch: web and worker processes import this package.
"""
