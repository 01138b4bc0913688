"""What the product shows about itself: check cases, determinism, estimators, speed."""
