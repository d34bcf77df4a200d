"""Where agents are kept that run on any of many machines: what they told, what they are asked, who runs them."""
