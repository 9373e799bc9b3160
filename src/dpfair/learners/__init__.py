"""Private scorers: public feature maps, the clipped-gradient core and the models built on it."""
