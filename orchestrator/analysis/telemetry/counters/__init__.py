"""What did each counter do? Samples → series, their growth over a window, rates."""
